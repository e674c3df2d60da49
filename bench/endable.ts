/** Everything that the bench has started, so that an interrupted bench leaves nothing running. Each is ended exactly once. */

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
  // Started while everything was being ended.
  if (over) void once()
  return once
}

export async function endAll(): Promise<void> {
  over = true
  await Promise.allSettled([...running].map(stop => stop()))
}
