#include <attend/lens_change.h>

#include <cmath>

namespace attend {

OutputChange change_by(const Reading& reading, const PassEdits& edits) {
  const Reading edited(reading, edits, Keep::last_state);
  OutputChange change;
  change.not_finite = edited.not_finite();
  const std::vector<double> before = text_vector(reading), after = text_vector(edited);
  change.text_cosine = cosine(before, after);
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    difference += (after[i] - before[i]) * (after[i] - before[i]);
    length += before[i] * before[i];
  }
  change.text_distance = length == 0 ? 0 : std::sqrt(difference / length);
  for (std::size_t word = 0; word < reading.words().size(); ++word)
    change.word_cosines.push_back(
        cosine(word_vector(reading, word, reading.layers()), word_vector(edited, word, reading.layers())));
  return change;
}

}  // namespace attend
