// Is this a build with a sanitizer? Those have their own malloc and reserve more address space than
// any limit would leave them.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADLIGHT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HEADLIGHT_SANITIZED 1
#endif
#endif
#ifndef HEADLIGHT_SANITIZED
#define HEADLIGHT_SANITIZED 0
#endif
