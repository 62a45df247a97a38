#include "reports/mismatch_files.h"

#include <absl/strings/str_cat.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

namespace peelcheck {
namespace {

namespace fs = std::filesystem;

std::string FileName(int number, const CellId& id) {
  std::string name = absl::StrCat(number, "-", id.op, "-", id.check, "-", id.dtype);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '_';
  }
  return name + ".json";
}

}  // namespace

void MismatchFilesSink::Begin(const RunInfo&) {
  static const std::regex kOurs(R"(\d+-\w+-\w+-f\d\d\.json)");
  std::error_code ignored;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_, ignored)) {
    if (std::regex_match(file.path().filename().string(), kOurs)) fs::remove(file.path(), ignored);
  }
}

void MismatchFilesSink::OnMismatch(const Mismatch& mismatch) {
  std::error_code error;
  fs::create_directories(folder_, error);
  const std::string path = (fs::path(folder_) / FileName(++count_, mismatch.id)).string();
  std::ofstream file(path, std::ios::trunc);
  const auto json =
      nlohmann::ordered_json::parse(mismatch.case_json, nullptr, /*allow_exceptions=*/false);
  file << json.dump() << "\n";
  file.close();
  if (!file) status_ = absl::UnavailableError("cannot write " + path);
}

}  // namespace peelcheck
