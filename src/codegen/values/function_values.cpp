#include <algorithm>

#include "arithmetic/function_algorithms.h"
#include "arithmetic/functions.h"
#include "codegen/values/arithmetic.h"
#include "codegen/values/function_handles.h"
#include "ir/op_tables.h"

namespace felsite::codegen {
namespace {

using ir::UnaryOp;

namespace functions = arithmetic::functions;

// The fixed algorithm, and what the device has instead.
struct FunctionRow {
  UnaryOp op;
  FunctionFloat (*exact)(FunctionFloat);
  GLSLstd450 fast;
};

#define FELSITE_FUNCTION_ROW(Name, name) {UnaryOp::Name, functions::name, GLSLstd450##Name},
constexpr FunctionRow kFunctions[] = {FELSITE_EACH_FUNCTION(FELSITE_FUNCTION_ROW)};
#undef FELSITE_FUNCTION_ROW

static_assert(std::ranges::all_of(ir::kUnaryOps, [](const ir::UnaryOpInfo& info) {
  return info.is_function == (std::ranges::count(kFunctions, info.op, &FunctionRow::op) == 1);
}));

const FunctionRow& function_row(UnaryOp op) {
  return *std::ranges::find(kFunctions, op, &FunctionRow::op);
}

// The algorithms expect a NaN without a sign. Here a NaN may have any bits and is returned as it
// is.
Float function_body(UnaryOp op, Float x) {
  return select(is_nan(x), x, function_row(op).exact({x}).handle);
}

}  // namespace

Float transcendental(UnaryOp op, Float x) {
  Emitter& e = *x.emitter;
  const Id type = e.type_float();
  if (!e.exact()) return e.as_float(e.glsl(function_row(op).fast, type, {x.id}));
  return e.as_float(e.call_helper(
      Helper::Function, static_cast<std::uint32_t>(op), ir::info(op).name.data(), type, {type},
      {x.id}, [&](FunctionWriter& f) { return function_body(op, e.as_float(f.param(0))).id; }));
}

}  // namespace felsite::codegen
