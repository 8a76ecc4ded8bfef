// SPDX-License-Identifier: MIT
// One table row a pass, five proofs: it fires; it leaves alone what each of its guards excludes; once more changes
// nothing; the graph verifies; the outputs stay, or the plan reads as expected. What it makes is kept as text in
// tests/golden/passes/<pass>/<name>.txt (quarkq_tests --rebase rewrites it). The suite is in pass_case.cpp.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace quarkq::test {

/// A change of the case after which the pass does nothing.
struct PassGuard {
  std::string name;                    ///< "KeepsASharedPad"
  std::string from = {};               ///< this part of the model's text, which is there once ...
  std::string to = {};                 ///< ... becomes this
  std::vector<std::string> sets = {};  ///< more settings
};

/// What the model is when the pass gets it.
enum class PassStart {
  kAsWritten,  ///< the text of the case, nodes selected
  kInOrder,    ///< after the enabled passes that stand before it in the pipeline, with calibration samples
};

enum class PassOutputs {
  kStay,    ///< compared on random inputs
  kChange,  ///< the pass changes the function on purpose: the recorded text is the proof
  kPlan,    ///< the pass does not touch the model: the recorded plan is the proof
};

struct PassCase {
  std::string pass;  ///< its name in `quarkq list passes`: "fuse-gelu"
  std::string name;  ///< "SpelledOut"
  /// On which the pass fires: "g (inputs) => (outputs) <initializers> { nodes }".
  std::string model;
  std::vector<PassGuard> guards = {};
  std::string preset = "A8W8";
  std::vector<std::string> sets = {};
  int opset = 17;
  PassStart start = PassStart::kAsWritten;
  PassOutputs outputs = PassOutputs::kStay;
  double tolerance = 1e-5;  ///< of kStay, relative
  bool once = false;        ///< a second time does more, and the row says beside it why that is right
  bool always = false;      ///< it fires on every model: there is nothing for a guard to exclude
};

/// For messages of the test program.
inline void PrintTo(const PassCase& row, std::ostream* out) { *out << row.pass << ", " << row.name; }

/// Adds cases to the suite: `const bool kAdded = test::add_pass_cases({...});` in the file of a test.
bool add_pass_cases(std::vector<PassCase> cases);

}  // namespace quarkq::test
