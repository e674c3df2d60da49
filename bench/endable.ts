/** What runs for the bench, so that nothing is left of it when somebody interrupts it. Each is ended once, whoever asks first. */

const running = new Set<() => Promise<void>>()
let over = false

/** The same `stop`, known to `endAll` until it was called. */
export function endable(stop: () => Promise<void>): () => Promise<void> {
  let ended: Promise<void> | undefined
  const once = () => {
    ended ??= stop().finally(() => running.delete(once))
    return ended
  }
  running.add(once)
  // Begun while everything was being ended.
  if (over) void once()
  return once
}

export async function endAll(): Promise<void> {
  over = true
  await Promise.allSettled([...running].map(stop => stop()))
}
