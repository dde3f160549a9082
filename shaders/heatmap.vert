#version 330 core
// One rectangle without a vertex buffer: the corner follows from the vertex number (0..3, a strip).

// Built with MANY it draws up to that many pictures of one shape, each from a layer of its own.
#ifdef MANY
uniform vec4 rects[MANY];
uniform int layers[MANY];
flat out vec4 rect;
flat out int layer;
#else
uniform vec4 rect;         // x0, y0, x1, y1 in framebuffer pixels, y down
#endif
uniform vec2 framebuffer;  // width, height in pixels

void main() {
#ifdef MANY
  rect = rects[gl_InstanceID];
  layer = layers[gl_InstanceID];
#endif
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 position = mix(rect.xy, rect.zw, corner) / framebuffer;
  gl_Position = vec4(position.x * 2.0 - 1.0, 1.0 - position.y * 2.0, 0.0, 1.0);
}
