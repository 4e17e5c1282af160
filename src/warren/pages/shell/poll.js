// Asks again and again while a page is open; a hidden tab asks nothing.

/**
 * @param {(signal: AbortSignal) => Promise<void>} ask
 * @param {() => number} pauseMs between the end of one answer and the next question
 * @returns {{ now: () => void, close: () => void }}
 */
export function poll(ask, pauseMs) {
  const closing = new AbortController();
  let timer = 0;
  let asking = false;
  async function turn() {
    clearTimeout(timer);
    if (asking || closing.signal.aborted) return;
    asking = true;
    if (!document.hidden) await ask(closing.signal);
    asking = false;
    if (!closing.signal.aborted) timer = setTimeout(turn, pauseMs());
  }
  const seen = () => {
    if (!document.hidden) turn();
  };
  document.addEventListener("visibilitychange", seen);
  turn();
  return {
    now: turn,
    close() {
      closing.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}
