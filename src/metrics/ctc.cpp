// SPDX-License-Identifier: MIT
#include "metrics/ctc.h"

#include "metrics/ranks.h"
#include "metrics/truth/texts.h"

namespace quarkq::metrics {
namespace {

/// Steps and classes.
Result<std::pair<size_t, size_t>> steps_of(const ir::Tensor& scores, const Alphabet& alphabet) {
  ir::Shape dims = scores.dims();
  if (dims.size() == 3 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() == 3 && dims[1] == 1) dims.erase(dims.begin() + 1);
  if (dims.size() != 2) {
    return bad_data("shape ", shape_text(scores.dims()), ", needed are scores of symbols [1,T,C] or [T,1,C]");
  }
  const size_t classes = static_cast<size_t>(dims[1]), lines = alphabet.symbols.size();
  if (classes != lines + 1 && classes != lines + 2) {
    return bad_data("shape ", shape_text(scores.dims()), " holds scores of ", classes, " classes, ", alphabet.path,
                    " has ", lines, " symbols: allowed are ", lines + 1, " classes with the blank, or ", lines + 2,
                    " with the space after them");
  }
  return std::pair(static_cast<size_t>(dims[0]), classes);
}

}  // namespace

Result<Alphabet> Alphabet::read(const std::string& path) {
  Alphabet alphabet{path, {}};
  QQ_TRY(alphabet.symbols, read_lines(path));
  if (alphabet.symbols.empty()) return bad_data(path, ": holds no symbols");
  return alphabet;
}

Result<std::string> decode_ctc(const ir::Tensor& scores, const Alphabet& alphabet) {
  QQ_TRY(const auto shape, steps_of(scores, alphabet));
  const auto [steps, classes] = shape;
  QQ_TRY(const std::vector<double> values, ir::to_double(scores));
  std::string text;
  size_t last = 0;
  for (size_t step = 0; step < steps; ++step) {
    const size_t symbol = highest_of(std::span(values).subspan(step * classes, classes)).value_or(0);
    if (symbol != 0 && symbol != last) text += symbol <= alphabet.symbols.size() ? alphabet.symbols[symbol - 1] : " ";
    last = symbol;
  }
  return text;
}

}  // namespace quarkq::metrics
