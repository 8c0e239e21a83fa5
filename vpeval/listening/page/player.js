/* A recording with a button; it counts as heard once it has played to its end. */
"use strict";
window.listening = window.listening || {};

(function () {
  let current = null;

  /** One recording. `source()` promises an address to play; `changed()` is called whenever its state changes. */
  class Recording {
    constructor(clip, source, changed) {
      this.clip = clip;
      this.source = source;
      this.changed = changed;
      this.audio = null;
      this.state = "idle";
      this.heard = false;
      this.plays = 0;
      this.failed = false;
    }

    async toggle() {
      if (this.state === "playing" || this.state === "loading") return this.stop();
      return this.play();
    }

    async play() {
      if (current && current !== this) current.stop();
      current = this;
      this.failed = false;
      this.set("loading");
      try {
        if (!this.audio) await this.load();
        if (current !== this) return;
        this.audio.currentTime = 0;
        await this.audio.play();
        this.plays += 1;
        this.set("playing");
      } catch (error) {
        if (error.name === "AbortError") return;
        this.failed = true;
        this.audio = null;
        this.set("idle");
      }
    }

    async load() {
      const audio = new Audio();
      audio.preload = "auto";
      audio.src = await this.source(this.clip.name);
      audio.addEventListener("ended", () => {
        this.heard = this.heard || this.played() >= 0.9 * this.clip.seconds;
        this.set("idle");
      });
      audio.addEventListener("timeupdate", () => this.changed(this));
      this.audio = audio;
    }

    /** Seconds of the recording that have actually been played. */
    played() {
      const ranges = this.audio.played;
      let sum = 0;
      for (let i = 0; i < ranges.length; i += 1) sum += ranges.end(i) - ranges.start(i);
      return sum;
    }

    get share() {
      return this.audio && this.audio.duration ? this.audio.currentTime / this.audio.duration : 0;
    }

    stop() {
      if (this.audio) this.audio.pause();
      if (current === this) current = null;
      this.set("idle");
    }

    set(state) {
      this.state = state;
      this.changed(this);
    }
  }

  /** The large button of a recording on question pages. */
  function playerButton(recording, name) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "player";
    button.innerHTML =
      '<span class="sign" aria-hidden="true"></span><span class="words"><span class="name"></span><span class="note"></span></span><span class="run" aria-hidden="true"></span>';
    button.querySelector(".name").textContent = name;
    button.addEventListener("click", () => recording.toggle());
    const show = () => {
      const note = recording.failed ? "could not be loaded, try again" :
        recording.state === "loading" ? "loading" :
        recording.state === "playing" ? "playing" :
        recording.heard ? "played, play again" : "not played yet, play";
      const line = button.querySelector(".note");
      if (line.textContent !== note) line.textContent = note;
      button.dataset.state = recording.state;
      button.dataset.heard = String(recording.heard);
      button.querySelector(".run").style.width = `${100 * recording.share}%`;
    };
    show();
    return { button, show };
  }

  function stopAll() {
    if (current) current.stop();
  }

  Object.assign(window.listening, { Recording, playerButton, stopAll });
})();
