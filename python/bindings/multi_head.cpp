// Multi-head attention from token vectors, self and cross, with its gradients.
#include <attend/multi_head.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "bindings.h"
#include "compute.h"
#include "heads.h"
#include "nn/heads.h"
#include "options.h"
#include "results.h"

// As Python shows them: what both functions take beside x and the three matrices.
#define ATTEND_MULTI_HEAD_SIGNATURE                                                                     \
  "*, heads: int, wo: A | None = None, bq: A | None = None, bk: A | None = None, bv: A | None = None, " \
  "bo: A | None = None, context: A | None = None, "

namespace attend_python {
namespace {

// x (L, E) or (B, L, E), the weights, and the options of attention().
class Call {
 public:
  Call(const char* function, nb::handle x, nb::handle wq, nb::handle wk, nb::handle wv,
       const nb::kwargs& keywords)
      : x_(x, "x"), options_(function, keywords, [&](std::string_view key, nb::handle value) {
          return take(key, value);
        }) {
    if (x_.rank() != 2 && x_.rank() != 3) {
      refuse_value(function, ": x has ", x_.rank(), " axes, expected two or three: (tokens, e) or (batch, ",
                   "tokens, e)");
    }
    if (heads_ < 1) refuse_value(function, ": heads is ", heads_, ", expected at least 1");
    if (context_ && context_->rank() != x_.rank()) {
      refuse_value(function, ": context has ", context_->rank(), " axes and x has ", x_.rank(),
                   ", expected the same number");
    }
    const nb::handle given[] = {wq, wk, wv};
    for (std::size_t i = 0; i < 3; ++i)
      *places()[i].view = weights_[i].emplace(given[i], places()[i].name).view();
    for (const attend::ConstTensorView& view : {views_.wq, views_.wk, views_.wv}) {
      if (view.rank() != 2) refuse_value(function, ": wq, wk and wv have two axes: (e, heads * d)");
    }
  }
  Call(const Call&) = delete;

  // With a batch of one, if there is none.
  attend::ConstTensorView up(attend::ConstTensorView view) const {
    return x_.rank() == 2 ? view.with_axis(0) : view;
  }
  attend::TensorView up(attend::TensorView view) const { return x_.rank() == 2 ? view.with_axis(0) : view; }

  attend::ConstTensorView x() const { return up(x_.view()); }
  attend::ConstTensorView context() const { return context_ ? up(context_->view()) : x(); }
  const std::optional<Array>& given_context() const { return context_; }
  const Array& array() const { return x_; }
  const attend::MultiHeadWeights& weights() const { return views_; }
  std::int64_t heads() const { return heads_; }
  const attend::AttentionOptions& options() const { return options_.get(); }

  // The shape of the output, when the library has found that the sizes agree: it is as large as they say.
  attend::Dims out_shape(const char* function) const {
    attend::Dims shape = x_.view().shape();
    shape[shape.rank() - 1] = attend::check_heads(function, x(), context(), views_, heads_).columns;
    return shape;
  }

 private:
  struct Place {
    const char* name;
    attend::ConstTensorView* view;
  };
  std::array<Place, 8> places() {
    return {{{"wq", &views_.wq},
             {"wk", &views_.wk},
             {"wv", &views_.wv},
             {"wo", &views_.wo},
             {"bq", &views_.bq},
             {"bk", &views_.bk},
             {"bv", &views_.bv},
             {"bo", &views_.bo}}};
  }

  bool take(std::string_view key, nb::handle value) {
    if (key == "heads") {
      heads_ = integer_from(value, "heads");
      return true;
    }
    if (key == "context") {
      if (!value.is_none()) context_.emplace(value, "context");
      return true;
    }
    for (std::size_t i = 3; i < weights_.size(); ++i) {
      if (key != places()[i].name) continue;
      *places()[i].view = optional_view(weights_[i], value, places()[i].name);
      return true;
    }
    return false;
  }

  // In this order: the options' constructor fills what stands before them.
  Array x_;
  std::int64_t heads_ = 0;
  std::optional<Array> context_;
  std::array<std::optional<Array>, 8> weights_;
  attend::MultiHeadWeights views_;
  Options options_;
};

nb::object multi_head_attention(nb::handle x, nb::handle wq, nb::handle wk, nb::handle wv,
                                const nb::kwargs& keywords) {
  const Call call("multi_head_attention", x, wq, wk, wv, keywords);
  const Result out = ResultMaker(call.array()).empty(call.out_shape("multi_head_attention"));
  const attend::TensorView view = call.up(out.view());
  {
    const Computing computing;
    attend::multi_head_attention(call.x(), call.context(), call.weights(), call.heads(), call.options(),
                                 view);
  }
  return out.object();
}

nb::object multi_head_attention_backward(nb::handle x, nb::handle wq, nb::handle wk, nb::handle wv,
                                         nb::handle d_out_object, const nb::kwargs& keywords) {
  const Call call("multi_head_attention_backward", x, wq, wk, wv, keywords);
  const Array d_out(d_out_object, "d_out");
  if (d_out.rank() != call.array().rank()) {
    refuse_value("multi_head_attention_backward: d_out has ", d_out.rank(), " axes and x has ",
                 call.array().rank(), ", expected the same number");
  }
  const ResultMaker results(call.array());
  const bool cross = call.given_context().has_value();
  const attend::MultiHeadWeights& weights = call.weights();
  std::array<std::optional<Result>, 10> found;
  attend::MultiHeadGradients gradients;
  const auto want = [&](std::size_t place, attend::ConstTensorView like, attend::TensorView& gradient) {
    if (like.given()) gradient = found[place].emplace(results.empty(like.shape())).view();
  };
  want(0, call.array().view(), gradients.x);
  want(1, cross ? call.given_context()->view() : call.array().view(), gradients.context);
  gradients.x = call.up(gradients.x);
  gradients.context = call.up(gradients.context);
  want(2, weights.wq, gradients.wq);
  want(3, weights.wk, gradients.wk);
  want(4, weights.wv, gradients.wv);
  want(5, weights.wo, gradients.wo);
  want(6, weights.bq, gradients.bq);
  want(7, weights.bk, gradients.bk);
  want(8, weights.bv, gradients.bv);
  want(9, weights.bo, gradients.bo);
  {
    const Computing computing;
    attend::multi_head_attention_backward(call.x(), call.context(), weights, call.heads(), call.options(),
                                          call.up(d_out.view()), gradients);
  }
  const auto object = [&](std::size_t place) {
    return found[place] ? found[place]->object() : nb::object(nb::none());
  };
  const nb::object d_x = cross ? object(0) : nb::object(object(0) + object(1));
  return named_tuple("MultiHeadGradients")(d_x, cross ? object(1) : nb::object(nb::none()), object(2),
                                           object(3), object(4), object(5), object(6), object(7), object(8),
                                           object(9));
}

}  // namespace

void bind_multi_head(nb::module_& module) {
  module.def("multi_head_attention", &multi_head_attention, nb::arg("x").none(), nb::arg("wq").none(),
             nb::arg("wk").none(), nb::arg("wv").none(), nb::arg("options"),
             nb::sig("def multi_head_attention(x: A, wq: A, wk: A, wv: A, " ATTEND_MULTI_HEAD_SIGNATURE
                         ATTEND_OPTIONS_SIGNATURE ") -> A"),
             "The heads' softmax(Q K^T / sqrt(d)) V side by side, times wo: x (tokens, e) or (batch, tokens, "
             "e), wq (e, heads * d).\n\nKeys and values come from context (default: x itself), and may have "
             "fewer heads: narrower wk and wv. float32 or float64.");
  module.def("multi_head_attention_backward", &multi_head_attention_backward, nb::arg("x").none(),
             nb::arg("wq").none(), nb::arg("wk").none(), nb::arg("wv").none(), nb::arg("d_out").none(),
             nb::arg("options"),
             nb::sig("def multi_head_attention_backward(x: A, wq: A, wk: A, wv: A, d_out: "
                     "A, " ATTEND_MULTI_HEAD_SIGNATURE ATTEND_OPTIONS_SIGNATURE ") -> MultiHeadGradients"),
             "The gradients of multi_head_attention(), from its inputs and the gradient of its output.");
}

}  // namespace attend_python
