// checks/laws.cc: the registry of laws, whose turn it is, and their vote; see oracle.h.
//
//   AskOneLaw(c)   // case 0 of a cell: "adjoint", case 1: "layout", ..
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {
namespace {

std::vector<Law>& Laws() {
  static std::vector<Law> laws;
  return laws;
}

}  // namespace

LawRegistration::LawRegistration(Law law) {
  std::vector<Law>& laws = Laws();
  const auto before = [](const Law& a, const Law& b) { return a.name < b.name; };
  laws.insert(std::upper_bound(laws.begin(), laws.end(), law, before), std::move(law));
}

const std::vector<Law>& AllLaws() { return Laws(); }

Judgement AskOneLaw(const CheckedCase& c) {
  std::vector<const Law*> applying;
  for (const Law& law : AllLaws()) {
    if (law.applies(c)) applying.push_back(&law);
  }
  if (applying.empty()) return {};
  Judgement judgement = applying[c.seed % applying.size()]->judge(c);
  // A law holds the engine against itself: it must not keep a cell from being vacuous.
  judgement.comparisons = 0;
  judgement.any_nonzero = false;
  return judgement;
}

std::string LawsVote(const CheckedCase& c) {
  std::vector<std::string> agree, disagree;
  for (const Law& law : AllLaws()) {
    if (!law.applies(c)) continue;
    const Judgement judgement = law.judge(c);
    if (judgement.finding.has_value()) {
      disagree.push_back(law.name);
    } else if (judgement.comparisons > 0) {
      agree.push_back(law.name);
    }
  }
  const auto listed = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none") : absl::StrJoin(names, ", ");
  };
  return absl::StrCat("vote of the laws: agree with the engine: ", listed(agree),
                      "; disagree: ", listed(disagree));
}

void CompareOutputs(const CheckedCase& c, const std::string& law, const Program& program,
                    const absl::StatusOr<std::vector<Array>>& expected, Judgement& judgement) {
  if (!expected.ok()) {
    judgement.NotePeeledError(law, program, expected.status());
    return;
  }
  if (!judgement.CheckCount(c, law, expected->size())) return;
  for (size_t o = 0; o < expected->size(); ++o) {
    const Array& value = (*expected)[o];
    judgement.Compare(c, law, o, value, UniformBounds(value, kReorderUnits, c.dtype));
  }
}

}  // namespace peelcheck
