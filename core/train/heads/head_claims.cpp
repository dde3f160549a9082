#include "core/train/heads/head_claims.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/graph/step_names.h"

namespace headlight {
namespace {

constexpr int kMostPlaces = kLargestMaxTokens;

HeadClaim read_claim(const OrderedJson& json, const std::string& example,
                     const JsonFileWords& words) {
  const JsonReader in(json, "claims", words);
  HeadClaim claim;
  claim.sentence = example;
  in.text("sentence", claim.sentence);
  in.text("step", claim.step);
  in.number("head", claim.head, 0, kMaxHeads - 1);
  if (in.find("query")) {
    int query = 0;
    in.number("query", query, 0, kMostPlaces);
    claim.query = query;
  }
  const OrderedJson* keys = in.find("keys");
  if (!keys || !keys->is_array() || keys->empty())
    in.fail(in.name("keys"), Message{"session.positions"}, keys ? *keys : OrderedJson());
  for (const OrderedJson& key : *keys) {
    if (!key.is_number_unsigned() || key.get<std::uint64_t>() > kMostPlaces)
      in.fail(in.name("keys"), Message{"session.positions"}, key);
    claim.keys.push_back(key.get<int>());
  }
  in.text("from", claim.from);
  in.text("to", claim.to);
  in.number("least", claim.least, 0, 1);
  in.text("why", claim.why);
  in.text("badge", claim.badge);
  in.texts("patterns", claim.patterns);
  in.number("mean", claim.mean, 0, 1);
  return claim;
}

OrderedJson claim_json(const HeadClaim& claim, const std::string& example) {
  OrderedJson json = OrderedJson::object();
  if (claim.sentence != example) json["sentence"] = claim.sentence;
  json["step"] = claim.step;
  json["head"] = claim.head;
  if (claim.query) json["query"] = *claim.query;
  json["keys"] = claim.keys;
  if (claim.query) json["from"] = claim.from;
  json["to"] = claim.to;
  json["least"] = claim.least;
  json["why"] = claim.why;
  if (!claim.badge.empty()) json["badge"] = claim.badge;
  if (!claim.patterns.empty()) json["patterns"] = claim.patterns;
  if (!claim.patterns.empty()) json["mean"] = claim.mean;
  return json;
}

[[noreturn]] void fail_place(const HeadClaim& claim, const TensorView& pattern) {
  throw Error(
      Message{"claim.no_place", {{"step", claim.step}, {"axes", shape_text(pattern.axes)}}});
}

}  // namespace

std::vector<HeadClaim> read_claims(const OrderedJson& list, const std::string& example,
                                   const JsonFileWords& words) {
  if (!list.is_array())
    JsonReader(OrderedJson::object(), "", words).fail("claims", Message{"claim.list"}, list);
  std::vector<HeadClaim> claims;
  for (const OrderedJson& json : list) claims.push_back(read_claim(json, example, words));
  return claims;
}

OrderedJson claims_json(const std::vector<HeadClaim>& claims, const std::string& example) {
  OrderedJson list = OrderedJson::array();
  for (const HeadClaim& claim : claims) list.push_back(claim_json(claim, example));
  return list;
}

double measured_weight(const HeadClaim& claim, const Trace& trace) {
  const TensorView pattern = trace.tensor(claim.step);
  if (pattern.axes.size() != 4) fail_place(claim, pattern);
  const std::int64_t heads = pattern.axes[1].size, queries = pattern.axes[2].size,
                     keys = pattern.axes[3].size;
  const bool outside =
      std::any_of(claim.keys.begin(), claim.keys.end(), [&](int key) { return key >= keys; });
  if (outside || claim.head >= heads || claim.query.value_or(0) >= queries)
    fail_place(claim, pattern);
  double smallest = 1;
  const std::int64_t first = claim.query.value_or(0);
  for (std::int64_t query = first; query < (claim.query ? first + 1 : queries); ++query) {
    double sum = 0;
    for (const int key : claim.keys)
      sum += static_cast<double>(pattern.data[(claim.head * queries + query) * keys + key]);
    smallest = std::min(smallest, sum);
  }
  return smallest;
}

bool speaks_of(const HeadClaim& claim, const Trace& trace) {
  const TensorView pattern = trace.find(claim.step);
  if (!pattern.data || pattern.axes.size() != 4 || !claim.query) return false;
  const Axis &query = pattern.axes[2], &key = pattern.axes[3];
  if (*claim.query >= query.size || trace.name(query.name, *claim.query) != claim.from)
    return false;
  std::string names;
  for (const int place : claim.keys) {
    if (place >= key.size) return false;
    names += (names.empty() ? "" : ", ") + trace.name(key.name, place);
  }
  return names == claim.to;
}

std::string claim_text(Language language, const HeadClaim& claim) {
  const int layer = split_name(claim.step).layer;
  if (layer < 0) {  // pooling: who asks is a focus
    return tr(language, "claim.focus",
              {{"focus", claim.from},
               {"to", claim.to},
               {"least", std::to_string(std::lround(100 * claim.least))},
               {"why", std::string(tr(language, claim.why))}});
  }
  const std::string from = claim.query ? claim.from : std::string(tr(language, "claim.each"));
  return tr(language, "claim.text",
            {{"layer", std::to_string(layer)},
             {"head", std::to_string(claim.head)},
             {"from", from},
             {"to", claim.to},
             {"least", std::to_string(std::lround(100 * claim.least))},
             {"why", std::string(tr(language, claim.why))}});
}

}  // namespace headlight
