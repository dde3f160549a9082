// What a lab found, as files: JSON, a table, and the tensors that went in.
#pragma once

#include <string>

#include "core/lab/lab.h"

namespace headlight {

/// {"id", "controls": {id: value}, "values": {name: number}, "series": {name: {"x", "y", of a
/// band "low" and "high", "names" of its points}}, "tree": [{"parent": place, "text",
/// "probability"}], "notice": ["…"], "questions": [{"text", "answers", "right", "because"}],
/// "notes": ["…"]}: right is the place of an answer, from 0. Texts in the given language.
std::string lab_json(const Lab&, const LabResult&, Language);

/// series,x,y,low,high: a line for each point of each series.
std::string lab_csv(const LabResult&);

/// The tensors by name, and "id" with the controls as metadata.
std::string lab_safetensors(const Lab&, const LabResult&);

/// What its training found, for assets/labs.
std::string lab_kept(const LabResult&);

/// A program in Python that computes the same with NumPy from those tensors: it leaves `values`,
/// `series` (their y) and `right` (places of answers, by question), and prints the first two.
std::string lab_code(const Lab&);

/// The text "lab.<lab>.<rest>": its "title", its "question".
std::string_view lab_text(Language, const Lab&, std::string_view rest);

/// A row, a column, a point as a person reads it: most names are words of the sentence, and stay as
/// they are; one that is the id of a text ("lab.word.none") is that text.
std::string lab_name(Language, const std::string& name);

/// A question's text and its answers.
struct AskedQuestion {
  std::string text;
  std::vector<std::string> answers;
};
AskedQuestion asked(Language, const Lab&, const LabQuestion&);

}  // namespace headlight
