#version 330 core
// A picture through other eyes: a matrix on linear RGB (core/vision.h).

uniform sampler2D picture;
uniform mat3 matrix;

out vec4 color;

vec3 to_linear(vec3 c) {
  return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c));
}
vec3 from_linear(vec3 c) {
  return mix(c * 12.92, 1.055 * pow(max(c, 0.0), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c));
}

void main() {
  vec4 seen = texelFetch(picture, ivec2(gl_FragCoord.xy), 0);
  color = vec4(from_linear(clamp(matrix * to_linear(seen.rgb), 0.0, 1.0)), seen.a);
}
