#include "steps/check_lesson.h"
#include "draw/prose.h"

#include <initializer_list>

namespace attend::steps {
namespace {

// A matrix and what messages call it.
struct Part {
  std::string_view name;
  const std::optional<Tensor>& matrix;

  bool given() const { return matrix.has_value(); }
  std::int64_t rows() const { return matrix->size(0); }
  std::int64_t columns() const { return matrix->size(1); }
};

class Checker {
 public:
  Checker(std::string_view name, const Lesson& lesson) : name_(name), lesson_(lesson) {}

  void check() const {
    check_form();
    check_companions();
    check_not_empty();
    check_projections();
    check_heads();
    check_output();
    check_labels();
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(LessonCause cause, const Parts&... parts) const {
    refuse_lesson(cause, name_, parts...);
  }

  // `part` is meaningless without `needed`.
  void check_needs(std::string_view part, bool given, std::string_view needed, bool needed_given) const {
    if (given && !needed_given)
      refuse(LessonCause::missing_key, part, " needs ", needed, ", which is missing");
  }

  // The columns of one matrix must match the rows of the next.
  void check_inner(const Part& matrix, const Part& source) const {
    if (matrix.rows() == source.columns()) return;
    refuse(LessonCause::size_mismatch, matrix.name, " has ", draw::counted(matrix.rows(), "row"), ", ",
           source.name, " has ", draw::counted(source.columns(), "column"));
  }

  void check_bias(std::string_view bias, const std::optional<Tensor>& values, const Part& matrix) const {
    if (!values || values->size(0) == matrix.columns()) return;
    refuse(LessonCause::size_mismatch, bias, " has ", draw::counted(values->size(0), "number"), ", ",
           matrix.name, " has ", draw::counted(matrix.columns(), "column"));
  }

  void check_label_count(std::string_view labels, std::size_t count, const Part& matrix) const {
    if (static_cast<std::int64_t>(count) == matrix.rows()) return;
    refuse(LessonCause::size_mismatch, labels, " has ",
           draw::counted(static_cast<std::int64_t>(count), "label"), ", ", matrix.name, " has ",
           draw::counted(matrix.rows(), "row"));
  }

  // Either x, or all of q, k and v.
  void check_form() const {
    for (const Part& part : {q(), k(), v()}) {
      if (part.given() && x().given()) {
        refuse(LessonCause::conflicting_keys, "x and ", part.name,
               " are both given, expected x, or q, k and v");
      }
    }
    if (x().given()) return;
    if (!q().given() && !k().given() && !v().given()) {
      refuse(LessonCause::missing_key, "there are no vectors, expected x, or q, k and v");
    }
    for (const Part& part : {q(), k(), v()}) {
      if (!part.given()) refuse(LessonCause::missing_key, part.name, " is missing, q, k and v go together");
    }
  }

  // Keys that require another key.
  void check_companions() const {
    for (const Part& part : {context(), wq(), wk(), wv()}) {
      check_needs(part.name, part.given(), "x", x().given());
    }
    check_needs("positions", lesson_.sinusoidal_positions, "x", x().given());
    const bool projected = wq().given() || wk().given() || wv().given();
    for (const Part& part : {wq(), wk(), wv()}) {
      if (projected && !part.given()) {
        refuse(LessonCause::missing_key, part.name, " is missing, wq, wk and wv go together");
      }
    }
    check_needs("bq", lesson_.bq.has_value(), "wq", wq().given());
    check_needs("bk", lesson_.bk.has_value(), "wk", wk().given());
    check_needs("bv", lesson_.bv.has_value(), "wv", wv().given());
    check_needs("bo", lesson_.bo.has_value(), "wo", wo().given());
  }

  void check_not_empty() const {
    for (const Part& part : {x(), context(), q(), k(), v(), wq(), wk(), wv(), wo()}) {
      if (!part.given()) continue;
      if (part.rows() == 0) refuse(LessonCause::empty_matrix, part.name, " has no rows");
      if (part.columns() == 0) refuse(LessonCause::empty_matrix, part.name, " has no columns");
    }
  }

  void check_projections() const {
    if (wq().given()) {
      check_inner(wq(), x());
      check_inner(wk(), key_source());
      check_inner(wv(), key_source());
    }
    check_bias("bq", lesson_.bq, wq());
    check_bias("bk", lesson_.bk, wk());
    check_bias("bv", lesson_.bv, wv());
    if (keys().columns() != queries().columns()) {
      refuse(LessonCause::size_mismatch, keys().name, " has ", draw::counted(keys().columns(), "column"),
             ", ", queries().name, " has ", queries().columns());
    }
    if (k().given() && k().rows() != v().rows()) {
      refuse(LessonCause::size_mismatch, "k has ", draw::counted(k().rows(), "row"), ", v has ", v().rows());
    }
  }

  void check_heads() const {
    if (lesson_.heads < 1)
      refuse(LessonCause::bad_value, "heads is ", lesson_.heads, ", expected at least 1");
    for (const Part& part : {queries(), values()}) {  // keys have the columns of queries
      if (part.columns() % lesson_.heads == 0) continue;
      refuse(LessonCause::size_mismatch, "heads is ", lesson_.heads, ", which does not divide the ",
             draw::counted(part.columns(), "column"), " of ", part.name);
    }
  }

  void check_output() const {
    if (!wo().given()) return;
    check_inner(wo(), values());
    check_bias("bo", lesson_.bo, wo());
  }

  void check_labels() const {
    check_label_count("tokens", lesson_.tokens.size(), x().given() ? x() : q());
    check_label_count("key_tokens", lesson_.key_tokens.size(), k().given() ? k() : key_source());
    if (x().given() && !context().given() && lesson_.key_tokens != lesson_.tokens) {
      refuse(LessonCause::conflicting_keys, "key_tokens differ from tokens, but the keys come from x itself");
    }
  }

  Part x() const { return {"x", lesson_.x}; }
  Part context() const { return {"context", lesson_.context}; }
  Part q() const { return {"q", lesson_.q}; }
  Part k() const { return {"k", lesson_.k}; }
  Part v() const { return {"v", lesson_.v}; }
  Part wq() const { return {"wq", lesson_.wq}; }
  Part wk() const { return {"wk", lesson_.wk}; }
  Part wv() const { return {"wv", lesson_.wv}; }
  Part wo() const { return {"wo", lesson_.wo}; }

  // Where keys and values come from when they are not given directly.
  Part key_source() const { return context().given() ? context() : x(); }

  // The matrices that determine the columns of queries, keys and values.
  Part queries() const { return q().given() ? q() : wq().given() ? wq() : x(); }
  Part keys() const { return k().given() ? k() : wk().given() ? wk() : key_source(); }
  Part values() const { return v().given() ? v() : wv().given() ? wv() : key_source(); }

  std::string_view name_;
  const Lesson& lesson_;
};

}  // namespace

void check_lesson(std::string_view name, const Lesson& lesson) { Checker(name, lesson).check(); }

}  // namespace attend::steps
