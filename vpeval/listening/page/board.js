/* The board: recordings are circles, moved by mouse, finger, pen or keys. */
"use strict";

(function () {
  const SIZE = 1000;
  const EDGE = 40;
  const STEP = 20;
  const FAR = 6;

  class Board {
    /** `changed()` is called after every move and whenever the state of a recording changes. */
    constructor(element, recordings, shape, changed) {
      this.element = element;
      this.shape = shape;
      this.changed = changed;
      element.textContent = "";
      this.points = recordings.map((recording, i) => this.point(recording, i, recordings.length));
    }

    get complete() {
      return this.points.every((point) => point.recording.heard && point.moved);
    }

    get value() {
      return this.points.map((point) => [point.x, this.shape === "line" ? 0 : point.y]);
    }

    point(recording, i, count) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "point";
      button.textContent = String(i + 1);
      const point = { recording, button, number: i + 1, moved: false, ...this.start(i, count) };
      recording.changed = () => this.show(point);
      this.drag(point);
      button.addEventListener("keydown", (event) => this.key(point, event));
      // Enter, Space and screen readers click; with mouse or finger, pointerdown has already played it.
      button.addEventListener("click", (event) => { if (event.detail === 0) recording.play(); });
      this.element.append(button);
      this.show(point);
      return point;
    }

    /** Neutral start: rows along the lower edge, or even spacing along the line. */
    start(i, count) {
      if (this.shape === "line") return { x: Math.round((SIZE * (i + 0.5)) / count), y: 0 };
      const columns = Math.min(count, 8);
      const rows = Math.ceil(count / columns);
      const x = Math.round((SIZE * ((i % columns) + 0.5)) / columns);
      return { x, y: EDGE + 20 + 100 * (rows - 1 - Math.floor(i / columns)) };
    }

    drag(point) {
      let from = null;
      point.button.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        from = { x: event.clientX, y: event.clientY, px: point.x, py: point.y };
        point.button.setPointerCapture(event.pointerId);
        point.button.focus({ preventScroll: true });
        point.recording.play();
        event.preventDefault();
      });
      point.button.addEventListener("pointermove", (event) => {
        if (!from) return;
        const box = this.element.getBoundingClientRect();
        const dx = ((event.clientX - from.x) / box.width) * SIZE;
        const dy = ((from.y - event.clientY) / box.height) * SIZE;
        if (Math.hypot(event.clientX - from.x, event.clientY - from.y) >= FAR || point.dragged) {
          point.dragged = true;
          this.move(point, from.px + dx, from.py + dy);
        }
      });
      const end = () => {
        from = null;
        point.dragged = false;
      };
      point.button.addEventListener("pointerup", end);
      point.button.addEventListener("pointercancel", end);
    }

    key(point, event) {
      const step = event.shiftKey ? 5 * STEP : STEP;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const move = moves[event.key];
      if (!move || (this.shape === "line" && move[1])) return;
      event.preventDefault();
      this.move(point, point.x + step * move[0], point.y + step * move[1]);
    }

    move(point, x, y) {
      const inside = (value) => Math.round(Math.min(SIZE - EDGE, Math.max(EDGE, value)));
      point.x = inside(x);
      point.y = this.shape === "line" ? 0 : inside(y);
      point.moved = true;
      this.show(point);
    }

    show(point) {
      const { button, recording } = point;
      button.style.left = `${point.x / 10}%`;
      button.style.top = this.shape === "line" ? "50%" : `${100 - point.y / 10}%`;
      button.dataset.state = recording.state;
      button.dataset.heard = String(recording.heard);
      button.dataset.moved = String(point.moved);
      const place = this.shape === "line" ? `at ${Math.round(point.x / 10)}` :
        `at ${Math.round(point.x / 10)} across, ${Math.round(point.y / 10)} up`;
      const heard = recording.failed ? "could not be loaded" : recording.heard ? "played" : "not played yet";
      button.setAttribute("aria-label", `Voice ${point.number}, ${heard}, ${point.moved ? place : "not placed yet"}`);
      this.changed();
    }
  }

  window.listening.Board = Board;
})();
