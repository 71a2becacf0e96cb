/** Moving and zooming what an svg element shows: by dragging, the wheel with ctrl, two fingers. */

const LEAST_SCALE = 0.02;
const MOST_SCALE = 3;
const DRAG = 4;

/** The part of a drawing of `width` × `height` that the svg element shows. */
export class Viewport {
  constructor(host, group, moved) {
    this.host = host;
    this.group = group;
    this.moved = moved;
    Object.assign(this, { x: 0, y: 0, scale: 1, width: 1, height: 1, dragged: false });
    this.pointers = new Map();
    host.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    host.addEventListener("pointerdown", (event) => this.down(event));
    host.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      host.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    }
  }

  get size() {
    return { width: this.host.clientWidth || 800, height: this.host.clientHeight || 600 };
  }

  apply() {
    const { x, y, scale } = this;
    this.group.setAttribute("transform", `translate(${round(x)} ${round(y)}) scale(${scale.toFixed(4)})`);
    this.moved();
  }

  /** Zoom by a factor; the point at (x, y) of the element stays where it is. */
  zoom(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, this.scale * factor));
    const by = scale / this.scale;
    this.x = x - (x - this.x) * by;
    this.y = y - (y - this.y) * by;
    this.scale = scale;
    this.apply();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.apply();
  }

  /** Show all, at most in its own size. Below `least`, show the top in that scale instead. */
  fit(least = 0) {
    const { width, height } = this.size;
    const whole = Math.min(1, (width - 16) / this.width, (height - 16) / this.height);
    this.scale = Math.max(whole, Math.min(1, least), LEAST_SCALE);
    this.x = (width - this.width * this.scale) / 2;
    this.y = 8;
    this.shrink();
    this.apply();
  }

  /** Make the element as low as the drawing, if it is lower than the element may be. */
  shrink() {
    this.host.style.setProperty("--drawn", `${Math.ceil(this.height * this.scale + 24)}px`);
  }

  /** Move as little as needed to show a rectangle of the drawing, or its middle if `centre`. */
  reveal({ left, top, width, height }, centre = false) {
    const room = this.size;
    const { scale } = this;
    const [x, y] = [left * scale + this.x, top * scale + this.y];
    const [w, h] = [width * scale, height * scale];
    if (centre) return this.pan((room.width - w) / 2 - x, Math.max(20, (room.height - h) / 2) - y);
    const shift = (at, length, whole) =>
      at < 12 ? 12 - at : at + length > whole - 12 ? Math.max(12 - at, whole - 12 - at - length) : 0;
    const [dx, dy] = [shift(x, w, room.width), shift(y, h, room.height)];
    if (dx || dy) this.pan(dx, dy);
    return undefined;
  }

  /** The rectangle of the drawing that is in view. */
  get view() {
    const { width, height } = this.size;
    const { x, y, scale } = this;
    return { left: -x / scale, top: -y / scale, right: (width - x) / scale, bottom: (height - y) / scale };
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left, top } = this.host.getBoundingClientRect();
    const delta = Math.max(-60, Math.min(60, event.deltaY));
    this.zoom(Math.exp(-delta / 150), event.clientX - left, event.clientY - top);
  }

  down(event) {
    if (event.button !== 0) return;
    this.dragged = this.pointers.size > 0;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const at = { x: event.clientX, y: event.clientY };
    const [dx, dy] = [at.x - before.x, at.y - before.y];
    if (!this.dragged && Math.hypot(dx, dy) < DRAG) return;
    if (!this.dragged) this.host.setPointerCapture(event.pointerId);
    this.dragged = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, at);
    if (!other) return this.pan(dx, dy);
    const { left, top } = this.host.getBoundingClientRect();
    const length = (point) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
    this.x += dx / 2;
    this.y += dy / 2;
    const middle = [(at.x + other.x) / 2 - left, (at.y + other.y) / 2 - top];
    return this.zoom(length(at) / length(before), ...middle);
  }
}

function round(value) {
  return Math.round(value * 10) / 10;
}
