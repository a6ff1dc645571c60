#include "codegen/values/function_values.h"

#include <algorithm>
#include <array>

#include "arithmetic/function_algorithms.h"
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

constexpr std::array<FunctionRow, 13> kFunctions{{
    {UnaryOp::Sin, functions::sin, GLSLstd450Sin},
    {UnaryOp::Cos, functions::cos, GLSLstd450Cos},
    {UnaryOp::Tan, functions::tan, GLSLstd450Tan},
    {UnaryOp::Asin, functions::asin, GLSLstd450Asin},
    {UnaryOp::Acos, functions::acos, GLSLstd450Acos},
    {UnaryOp::Atan, functions::atan, GLSLstd450Atan},
    {UnaryOp::Sinh, functions::sinh, GLSLstd450Sinh},
    {UnaryOp::Cosh, functions::cosh, GLSLstd450Cosh},
    {UnaryOp::Tanh, functions::tanh, GLSLstd450Tanh},
    {UnaryOp::Exp, functions::exp, GLSLstd450Exp},
    {UnaryOp::Exp2, functions::exp2, GLSLstd450Exp2},
    {UnaryOp::Log, functions::log, GLSLstd450Log},
    {UnaryOp::Log2, functions::log2, GLSLstd450Log2},
}};

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
