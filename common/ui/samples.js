// What the page says at a moment (the elements in #samples), and what happens between two moments.

const kept = 300; // moments: five minutes of a poll a second

export class Samples {
  #last = new Map(); // name -> the figures of the last moment
  #rates = new Map(); // name -> the rates of the last moment that brought new figures
  moments = []; // [{ time, servers: Map name -> rates, and null for one that did not answer }]

  // Takes the figures of a page. `time`: of the browser, in milliseconds; what does not answer is in no
  // element, and has no rates.
  take(list, time) {
    const now = new Map();
    let changed = false;
    for (const item of list.children) {
      const name = item.dataset.server ?? (item.dataset.stage ? `stage ${item.dataset.stage}` : 'trainer');
      const figures = { ...item.dataset };
      const before = this.#last.get(name);
      if (item.dataset.stage || !before || Number(figures.unix) !== Number(before.unix)) {
        if (!item.dataset.stage) changed = true;
        this.#rates.set(name, before ? between(before, figures) : null);
        this.#last.set(name, figures);
      }
      now.set(name, this.#rates.get(name) ?? null);
    }
    // A restarted server has another clock of figures, but never an earlier time.
    for (const name of this.#last.keys()) {
      if (!now.has(name)) {
        this.#last.delete(name);
        changed = true;
      }
    }
    if (!changed) return false;
    this.moments.push({ time, servers: now });
    if (this.moments.length > kept) this.moments.shift();
    return true;
  }

  // A moment in which the page could not be had: lines are broken there.
  miss(time) {
    if (this.moments.length && this.moments.at(-1).servers.size) this.moments.push({ time, servers: new Map() });
  }

  names() {
    return [...this.#last.keys()].filter((name) => this.#last.get(name).server !== undefined);
  }
}

// The figures as they are now, and of each counter how much it grew (`change`), in all and a second (`rate`);
// null if it fell: the program was started anew. `values`: the histogram of what came in between.
function between(before, after) {
  const seconds = Number(after.unix) - Number(before.unix);
  const rate = {};
  const change = {};
  for (const key of Object.keys(after)) {
    const grown = Number(after[key]) - Number(before[key]);
    change[key] = grown >= 0 ? grown : null;
    rate[key] = grown >= 0 && seconds > 0 ? grown / seconds : null;
  }
  const old = buckets(before);
  const values = new Map([...buckets(after)].map(([bound, count]) => [bound, Math.max(0, count - (old.get(bound) ?? 0))]));
  return { figures: after, rate, change, values };
}

// Upper bound -> count.
function buckets(figures) {
  const bounds = (figures.bounds ?? '').split(' ').filter(Boolean).map(Number);
  const counts = (figures.counts ?? '').split(' ').filter(Boolean).map(Number);
  return new Map(counts.map((count, i) => [bounds[i] ?? Infinity, count]));
}

// The value that a share `q` is at most, linear within a bucket; null if there are no values.
export function quantile(maps, q) {
  const sum = new Map();
  for (const counts of maps) for (const [bound, count] of counts) sum.set(bound, (sum.get(bound) ?? 0) + count);
  const bounds = [...sum.keys()].sort((a, b) => a - b);
  const all = bounds.reduce((total, bound) => total + sum.get(bound), 0);
  if (!all) return null;
  let below = 0;
  for (let i = 0; i < bounds.length; i++) {
    const count = sum.get(bounds[i]);
    const lower = i ? bounds[i - 1] : 0;
    if (count && below + count >= q * all) {
      return bounds[i] === Infinity ? lower : lower + ((bounds[i] - lower) * (q * all - below)) / count;
    }
    below += count;
  }
  return null;
}
