// KeyValueCache, made safe for Python: threads may call it at once, and an array that shows its memory keeps
// that memory in place.
#include <attend/cache.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "bindings.h"
#include "compute.h"
#include "heads.h"
#include "options.h"

namespace attend_python {
namespace {

class Cache {
  template <class Query>
  auto read(const Query& query) const {
    const nb::gil_scoped_release released;
    if (Holding::holds(this)) return query();
    const std::shared_lock lock(mutex_);
    return query();
  }

  template <class Action>
  void change(const Action& action) {
    const Computing computing(Signals::wait);
    const Holding holding(this);
    const std::unique_lock lock(mutex_);
    action();
  }

 public:
  Cache(nb::handle batch, nb::handle heads, nb::handle d, nb::handle dv, nb::handle dtype,
        nb::handle capacity)
      : cache_(dtype_from(dtype), integer_from(batch, "batch"), integer_from(heads, "heads"),
               integer_from(d, "d"), integer_from(dv.is_none() ? d : dv, "dv"),
               integer_from(capacity, "capacity")) {}

  void append(nb::handle k_object, nb::handle v_object, nb::handle counts_object) {
    const Array k(k_object, "k"), v(v_object, "v");
    const std::vector<std::int64_t> counts =
        counts_object.is_none() ? std::vector<std::int64_t>{} : integers_from(counts_object, "counts");
    const bool counted = !counts_object.is_none();
    change([&] {
      if (exports_->load() > 0) require_room(k, counts);
      counted ? cache_.append(k.view(), v.view(), counts) : cache_.append(k.view(), v.view());
    });
  }

  void reserve(nb::handle rows) {
    const std::int64_t capacity = integer_from(rows, "capacity");
    change([&] {
      if (capacity > cache_.capacity()) require_nothing_exported();
      cache_.reserve(capacity);
    });
  }

  void truncate(nb::handle length) {
    if (is_integer(length)) {
      const std::int64_t rows = integer_from(length, "length");
      change([&] { cache_.truncate(rows); });
    } else {
      const auto lengths = integers_from(length, "length");
      change([&] { cache_.truncate(lengths); });
    }
  }

  void clear() {
    change([&] { cache_.clear(); });
  }

  nb::object attention(nb::handle q_object, const nb::kwargs& keywords) const {
    bool return_state = false;
    const Options options("attention", keywords, [&](std::string_view key, nb::handle value) {
      if (key != "return_state") return false;
      return_state = flag_from(value, "return_state");
      return true;
    });
    const Array q(q_object, "q");
    if (q.rank() != 4) refuse_value("q has ", q.rank(), " axes, expected four: (batch, heads, queries, d)");
    const ResultMaker results(q);
    attend::Dims shape = q.view().shape();
    shape[3] = value_size();
    const Result out = results.empty(shape);
    std::optional<Result> max, sum;
    attend::RowStateView state;
    if (return_state) {
      const attend::Dims rows = q.view().shape().without(3);
      const attend::DType dtype = computing_type(q.dtype());
      state = {max.emplace(results.empty(rows, dtype)).view(),
               sum.emplace(results.empty(rows, dtype)).view()};
    }
    {
      const Computing computing;
      const Holding holding(this);
      const std::shared_lock lock(mutex_);
      cache_.attention(q.view(), options.get(), out.view(), state);
    }
    if (!return_state) return out.object();
    return nb::make_tuple(out.object(), named_tuple("RowState")(max->object(), sum->object()));
  }

  nb::object keys(nb::handle self) const {
    return shown(self, [this] { return cache_.keys(); });
  }
  nb::object values(nb::handle self) const {
    return shown(self, [this] { return cache_.values(); });
  }

  std::vector<std::int64_t> lengths() const {
    return read([this] { return cache_.lengths(); });
  }
  std::int64_t length() const {
    return read([this] { return cache_.length(); });
  }
  std::int64_t capacity() const {
    return read([this] { return cache_.capacity(); });
  }
  std::string_view dtype() const { return name_of(cache_.dtype()); }

 private:
  std::int64_t value_size() const {
    return read([this] { return cache_.values().size(3); });
  }

  void require_nothing_exported() const {
    if (exports_->load() > 0) {
      throw std::invalid_argument(
          "KeyValueCache: there is no room, and an array that keys() or values() returned still looks at the "
          "memory; delete it, or reserve() enough room at the start");
    }
  }

  void require_room(const Array& k, const std::vector<std::int64_t>& counts) const {
    std::int64_t most = 0;
    for (std::size_t b = 0; b < cache_.lengths().size(); ++b) {
      const std::int64_t rows = b < counts.size() ? counts[b] : k.rank() == 4 ? k.view().size(2) : 0;
      most = std::max(most, cache_.lengths()[b] + rows);
    }
    if (most > cache_.capacity()) require_nothing_exported();
  }

  // The memory itself, read-only. As long as such an array lives the cache refuses to move its memory, as a
  // bytearray does.
  template <class Get>
  nb::object shown(nb::handle self, const Get& get) const;

  attend::KeyValueCache cache_;
  mutable std::shared_mutex mutex_;
  std::shared_ptr<std::atomic<int>> exports_ = std::make_shared<std::atomic<int>>(0);
};

// What keeps an export: the cache alive, and its memory in place.
struct Export {
  nb::object cache;
  std::shared_ptr<std::atomic<int>> count;

  Export(nb::object owner, std::shared_ptr<std::atomic<int>> counter)
      : cache(std::move(owner)), count(std::move(counter)) {
    ++*count;
  }
  ~Export() { --*count; }
};

template <class Get>
nb::object Cache::shown(nb::handle self, const Get& get) const {
  const attend::ConstTensorView view = read(get);
  auto kept = std::make_unique<Export>(nb::borrow(self), exports_);
  const nb::capsule owner(kept.release(), [](void* held) noexcept { delete static_cast<Export*>(held); });
  std::size_t shape[attend::kMaxRank] = {};
  std::int64_t strides[attend::kMaxRank] = {};
  for (int axis = 0; axis < view.rank(); ++axis) {
    shape[axis] = static_cast<std::size_t>(view.size(axis));
    strides[axis] = view.stride(axis);
  }
  const bool bfloat = view.dtype() == attend::DType::bf16;
  const nb::dlpack::dtype dtype{
      static_cast<std::uint8_t>(bfloat ? nb::dlpack::dtype_code::UInt : nb::dlpack::dtype_code::Float),
      static_cast<std::uint8_t>(8 * attend::size_of(view.dtype())), 1};
  const nb::object array = nb::cast(nb::ndarray<nb::numpy, nb::ro>(
      view.raw(), static_cast<std::size_t>(view.rank()), shape, owner, strides, dtype));
  return bfloat ? array.attr("view")(numpy_dtype(attend::DType::bf16)) : array;
}

}  // namespace

void bind_cache(nb::module_& module) {
  nb::class_<Cache>(
      module, "KeyValueCache",
      "The keys and values of the past: append what each step brings, then attend to everything so far.")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(),
           nb::arg("batch").none(), nb::arg("heads").none(), nb::arg("d").none(), nb::arg("dv") = nb::none(),
           nb::arg("dtype").none() = "float32", nb::arg("capacity").none() = 0,
           nb::sig("def __init__(self, batch: int, heads: int, d: int, dv: int | None = None, dtype: DType = "
                   "'float32', capacity: int = 0) "
                   "-> None"))
      .def("append", &Cache::append, nb::arg("k").none(), nb::arg("v").none(), nb::arg("counts") = nb::none(),
           nb::sig("def append(self, k: Array, v: Array, counts: Integers | None = None) -> None"),
           "Adds (batch, heads, rows, d) and (batch, heads, rows, dv); with counts, only the first counts[b] "
           "rows of sequence b.")
      .def("reserve", &Cache::reserve, nb::arg("capacity").none(),
           nb::sig("def reserve(self, capacity: int) -> None"), "Makes room for that many rows.")
      .def("truncate", &Cache::truncate, nb::arg("length").none(),
           nb::sig("def truncate(self, length: int | Integers) -> None"),
           "Removes the rows after a length, or after one length per sequence.")
      .def("clear", &Cache::clear, "Forgets everything and keeps the room.")
      .def("attention", &Cache::attention, nb::arg("q").none(), nb::arg("options"),
           nb::sig("def attention(self, q: A, *, " ATTEND_OPTIONS_SIGNATURE
                   ", return_state: bool = False) -> typing.Any"),
           "attention() of q (batch, heads, queries, d) over what is cached; the queries are the last rows.")
      .def(
          "keys", [](nb::handle self) { return nb::cast<const Cache&>(self).keys(self); },
          nb::sig("def keys(self) -> numpy.typing.NDArray[typing.Any]"),
          "(batch, heads, length, d): the memory itself, read-only.")
      .def(
          "values", [](nb::handle self) { return nb::cast<const Cache&>(self).values(self); },
          nb::sig("def values(self) -> numpy.typing.NDArray[typing.Any]"),
          "(batch, heads, length, dv): the memory itself, read-only.")
      .def_prop_ro("lengths", &Cache::lengths, nb::sig("def lengths(self) -> list[int]"),
                   "How many rows each sequence has.")
      .def_prop_ro("length", &Cache::length, nb::sig("def length(self) -> int"),
                   "How many rows the longest sequence has.")
      .def_prop_ro("capacity", &Cache::capacity, nb::sig("def capacity(self) -> int"),
                   "For how many rows there is room.")
      .def("__repr__",
           [](const Cache& cache) {
             return "<attend.KeyValueCache, sequences: " + std::to_string(cache.lengths().size()) +
                    ", rows: " + std::to_string(cache.length()) + ">";
           })
      .def("__len__", &Cache::length);
}

}  // namespace attend_python
