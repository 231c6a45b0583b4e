#include "doctor/report.h"

#include <gtest/gtest.h>

namespace attend::doctor {
namespace {

TEST(DoctorReport, ForAReaderAndForAProgram) {
  Section section{"model", "The model"};
  section.add("max_tokens", 256, "256, sentence_bert_config.json says so");
  section.add("only_json", Json{{"a", 1}}, "");
  section.notes.emplace_back("All is well.");
  EXPECT_EQ(render({section}, {}),
            "The model\n  max tokens      256, sentence_bert_config.json says so\n\nAll is well.\n");
  const Json parsed = Json::parse(to_json({section}));
  EXPECT_EQ(parsed["model"]["max_tokens"], 256);
  EXPECT_EQ(parsed["model"]["only_json"]["a"], 1);
}

TEST(DoctorReport, WrapsBetweenWordsAndKeepsPathsWhole) {
  Section section{"s", "S"};
  const std::string path = "/a/" + std::string(80, 'x');
  section.add("folder", Json(path), "it is in " + path + " and nowhere else");
  EXPECT_EQ(render({section}, {.width = 50}), "S\n  folder          it is in\n                  " + path +
                                                  "\n                  and nowhere else\n");
}

TEST(DoctorReport, NothingDrivesTheTerminal) {
  Section section{"s", "S"};
  section.add("name", std::string("a\x1b[2Jb\xFF"));
  const std::string text = render({section}, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(Json::accept(to_json({section})));
}

}  // namespace
}  // namespace attend::doctor
