/** At most `permits` tasks run at the same time; the others wait in arrival order. The caller bounds how many wait. */

export type Semaphore = ReturnType<typeof createSemaphore>

export function createSemaphore(permits: number) {
  const waiting: (() => void)[] = []
  let free = permits
  return {
    /** Resolves or rejects as `work` does. The permit is free again when `work` has ended. */
    async run<T>(work: () => Promise<T>): Promise<T> {
      if (free > 0) free -= 1
      else await new Promise<void>(resolve => void waiting.push(resolve))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next === undefined) free += 1
        else next()
      }
    },
  }
}
