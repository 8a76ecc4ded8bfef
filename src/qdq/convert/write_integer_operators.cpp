// SPDX-License-Identifier: MIT
// quant_format QOperator: what the conversion qdq-to-qoperator does, at the end of a run.
#include "pass/tidy_up.h"
#include "qdq/convert/conversions.h"
#include "qdq/passes.h"

namespace quarkq::qdq {

Result<Changed> write_integer_operators(pass::QdqContext& context) {
  std::vector<pass::LeftNode> left;
  std::vector<pass::SideFile> none;
  const pass::ConversionOptions options;
  pass::ConvertContext conversion{context.model, options, context.diagnostics, left, none};
  QQ_TRY(const size_t converted, qdq_to_qoperator(conversion));
  for (const pass::LeftNode& node : left) context.diagnostics.add("left-between-pairs", node.node, node.reason);
  return pass::tidy_up(context.graph(), converted > 0 ? Changed::kYes : Changed::kNo);
}

}  // namespace quarkq::qdq
