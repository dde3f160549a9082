# Who may know a tensor by its name. Run as: cmake -DSOURCE=<repository> -P test_roles.cmake
#
#   Outside core/graph a tensor is known by its role or by a field of Program, and a step by its row: no
#   name of a tensor stands in the sources, no name is looked at letter by letter, and there is no list of
#   the kinds of steps. app/cli may name tensors: there people and files do.
cmake_minimum_required(VERSION 3.22)
if(NOT SOURCE)
  message(FATAL_ERROR "usage: cmake -DSOURCE=<repository> -P test_roles.cmake")
endif()

set(tensor_name
    "\"((d|encoder|decoder)\\.)*blocks\\."
    "\"[^\"]*(attn\\.|mlp\\.|_proj\"|resid_(pre|mid|post)|ln_final|\\.normalized|embed\\.W_|unembed|classify\\.[Wb]|scores_(raw|scaled|masked)|score_v\"|[W]_[QKVOEUC]\")"
    "\"(d\\.|encoder\\.|decoder\\.|logits|probs|token_ids|pos_embed|\\.(pattern|w|b))\"")
set(part_of_name "(spec|tensor|own|result)\\.name\\.(ends_with|starts_with|find|rfind|compare)\\("
                 "(spec|tensor)\\.name [=!]= \"" "\\.(step|tensor)\\.(ends_with|starts_with)\\(")
set(kinds_of_steps "StepKind" "row\\.(title|forward|backward)[a-z.]* [=!]=" "words\\(\\)\\.[a-z]+ [=!]=")

set(wrong "")
set(seen 0)
file(GLOB_RECURSE files "${SOURCE}/core/*.h" "${SOURCE}/core/*.cpp" "${SOURCE}/app/*.h" "${SOURCE}/app/*.cpp")
foreach(file IN LISTS files)
  file(RELATIVE_PATH shown "${SOURCE}" "${file}")
  # The operations' own words are no names of tensors, and other programs' names are not ours.
  if(shown MATCHES "^core/(graph|ops)/|^app/cli/|^core/model/folders/types/")
    continue()
  endif()
  math(EXPR seen "${seen} + 1")
  foreach(word IN LISTS tensor_name part_of_name kinds_of_steps)
    file(STRINGS "${file}" lines REGEX "${word}")
    foreach(line IN LISTS lines)
      string(STRIP "${line}" line)
      string(REGEX REPLACE "//.*" "" code "${line}")
      if(code MATCHES "${word}")
        list(APPEND wrong "${shown}: ${line}")
      endif()
    endforeach()
  endforeach()
endforeach()

if(seen LESS 200)
  message(FATAL_ERROR "only ${seen} sources in ${SOURCE}: the rule checks nothing")
endif()
if(wrong)
  list(REMOVE_DUPLICATES wrong)
  list(JOIN wrong "\n  " wrong)
  message(FATAL_ERROR "ask for the role (core/graph/roles.h), a field of Program or the step's row:\n  ${wrong}")
endif()
message(STATUS "${seen} files: no tensor is known by its name")
