// The commands of the documents: each line of a ```sh block that starts the program is run, and a
// ```console block shows what its first line, `$ command`, prints.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

const std::string kProgram = "build/release/";

struct Block {
  std::string kind;
  std::vector<std::string> lines;
};

std::vector<Block> BlocksOf(const std::string& document) {
  std::ifstream file(std::string(PEELCHECK_SOURCE_DIR) + "/" + document);
  EXPECT_TRUE(file) << document;
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      if (!inside) blocks.push_back({line.substr(3), {}});
      inside = !inside;
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  return blocks;
}

struct Result {
  int exit_code = -1;
  std::string output;
};

// Runs a command of the documents with the programs of this build, from the source folder.
Result RunCommand(std::string command) {
  const std::string binary = PEELCHECK_BINARY;
  const std::string folder = binary.substr(0, binary.rfind('/') + 1);
  for (size_t at = command.find(kProgram); at != std::string::npos;
       at = command.find(kProgram, at + folder.size())) {
    command.replace(at, kProgram.size(), folder);
  }
  command = "cd '" + std::string(PEELCHECK_SOURCE_DIR) + "' && {\n" + command + "\n} 2>&1";
  Result result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    result.output.append(buffer.data(), n);
  }
  result.exit_code = WEXITSTATUS(pclose(pipe));
  for (size_t at; (at = result.output.find(folder)) != std::string::npos;) {
    result.output.replace(at, folder.size(), kProgram);
  }
  return result;
}

const char* const kDocuments[] = {"README.md", "CONTRIBUTING.md", "docs/engine.md",
                                  "docs/performance.md", "opinfo_db/README.md"};

// A line may end in `# exits 1`.
TEST(docs, EachCommandOfTheProgramRuns) {
  int ran = 0;
  for (const char* document : kDocuments) {
    for (const Block& block : BlocksOf(document)) {
      if (block.kind != "sh") continue;
      for (const std::string& line : block.lines) {
        if (line.rfind(kProgram + "peelcheck", 0) != 0 && line.rfind("echo ", 0) != 0) continue;
        const size_t exits = line.find("# exits ");
        const int expected = exits == std::string::npos ? 0 : std::stoi(line.substr(exits + 8));
        const Result result = RunCommand(line);
        EXPECT_EQ(result.exit_code, expected) << document << ": " << line << "\n" << result.output;
        ++ran;
      }
    }
  }
  EXPECT_GE(ran, 3);
}

TEST(docs, EachShownOutputIsWhatIsPrinted) {
  int shown = 0;
  for (const char* document : kDocuments) {
    for (const Block& block : BlocksOf(document)) {
      if (block.kind != "console") continue;
      ASSERT_GE(block.lines.size(), 2u) << document;
      ASSERT_EQ(block.lines[0].rfind("$ ", 0), 0u) << document;
      std::string expected;
      for (size_t i = 1; i < block.lines.size(); ++i) expected += block.lines[i] + "\n";
      const Result result = RunCommand(block.lines[0].substr(2));
      EXPECT_NE(result.output.find(expected), std::string::npos)
          << document << " shows\n" << expected << "but the command prints\n" << result.output;
      ++shown;
    }
  }
  EXPECT_GE(shown, 1);
}

// docs/coverage.md is what `peelcheck coverage` prints now.
TEST(docs, CoverageIsUpToDate) {
  std::ifstream file(std::string(PEELCHECK_SOURCE_DIR) + "/docs/coverage.md");
  const std::string written(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(RunCommand("build/release/peelcheck coverage").output, written)
      << "run: build/release/peelcheck coverage > docs/coverage.md";
}

}  // namespace
