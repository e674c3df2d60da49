/**
 * A fault: the outside failed (the ledger is away, a reply never came). Not an outcome (an expected "no") and not a bug.
 * `retryable` says whether the same call may be tried again; `outcomeUnknown` that it may have taken effect all the same.
 */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: string
  readonly retryable: boolean
  readonly outcomeUnknown: boolean

  constructor(
    code: string,
    message: string,
    options: { retryable?: boolean; outcomeUnknown?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? false
    this.outcomeUnknown = options.outcomeUnknown ?? false
  }
}

/** The call's value, or what `instead` makes of a fault: undefined, unless it says otherwise. A bug is thrown. */
export async function onFault<T, U = undefined>(
  call: () => Promise<T>,
  instead: (fault: Fault) => U = () => undefined as U,
): Promise<T | U> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof Fault) return instead(error)
    throw error
  }
}
