// The catalogue of seeded faults: each is named, described, killed at a small budget, and its right
// twin passes what kills it.
#include "faults/catalogue.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "faults/run_fault.h"

namespace peelcheck {
namespace {

TEST(FaultCatalogue, HoldsAtLeast120DescribedFaultsOfEveryKind) {
  std::set<std::string> names;
  std::map<FaultKind, int> kinds;
  for (const SeededFault& fault : FaultCatalogue()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name << " comes twice";
    EXPECT_GE(fault.description.size(), 10u) << fault.name << " is not described";
    EXPECT_FALSE(fault.entries.empty()) << fault.name;
    EXPECT_EQ(fault.entries.size(), fault.twins.size()) << fault.name;
    ++kinds[fault.kind];
  }
  EXPECT_GE(names.size(), 120u);
  for (int kind = 0; kind <= static_cast<int>(FaultKind::kResults); ++kind) {
    EXPECT_GT(kinds[static_cast<FaultKind>(kind)], 0)
        << "no fault of kind " << FaultKindName(static_cast<FaultKind>(kind));
  }
}

TEST(FaultCatalogue, BothWrongEntriesOfTheReferenceDatabaseAreInIt) {
  int found = 0;
  for (const SeededFault& fault : FaultCatalogue()) {
    found += fault.report.find("PyTorch autograd_function_db") == 0 ? 1 : 0;
  }
  EXPECT_EQ(found, 2);
}

TEST(FaultCatalogue, NoFaultyFunctionIsInTheMainJob) {
  for (const SeededFault& fault : FaultCatalogue()) {
    if (fault.entries[0] == fault.twins[0]) continue;  // an engine's, over registered entries
    EXPECT_EQ(FindEntry(fault.entries[0]->name), nullptr) << fault.name;
  }
}

TEST(FaultCatalogue, EveryFaultIsKilled) {
  for (const SeededFault& fault : FaultCatalogue()) {
    const FaultOutcome outcome = RunFault(fault, {.seed = 7, .first_only = true});
    EXPECT_TRUE(outcome.killed()) << fault.name << " survives: " << fault.description;
  }
}

TEST(FaultCatalogue, EveryRightTwinPasses) {
  std::vector<const SeededFault*> faults;
  for (const SeededFault& fault : FaultCatalogue()) faults.push_back(&fault);
  for (const Entry* twin : TwinsOf(faults)) {
    for (const std::string& failure : TwinFailures(*twin, {.seed = 7})) ADD_FAILURE() << failure;
  }
}

}  // namespace
}  // namespace peelcheck
