// What becomes of a body that nobody reads, because the headers already decide or because it is too large. Many clients look
// for an answer only when they have sent everything, and hear nothing if the connection ends before that.
//
// Where the connection stays open, Bun answers at once, and then receives and drops the rest by itself: it costs what
// receiving costs, and no memory. Where the client asked for the connection to end, Bun ends it with the answer; so there the
// rest is dropped here before the answer, up to a bound.

const MAX_DROPPED_BYTES = 8 * 1024 * 1024
const MAX_DROPPING_MS = 10_000

/** The header Content-Length, which the server has checked; null where the body comes in chunks, or there is none. */
export const declaredBytes = (request: Request): number | null => {
  const declared = request.headers.get('content-length')
  return declared === null ? null : Number(declared)
}

/** Whether a request has a body and asks that the connection end with the answer. */
export const endsWithBody = ({ headers }: Request): boolean =>
  (headers.has('content-length') || headers.has('transfer-encoding')) &&
  /\bclose\b/i.test(headers.get('connection') ?? '')

/** Receives and drops what nobody has read of a body, up to the bounds above. */
export const dropUnread = async (request: Request): Promise<void> => {
  // A body that was read as a whole is locked.
  if (request.body === null || request.body.locked) return
  const reader = request.body.getReader()
  const timer = setTimeout(() => reader.releaseLock(), MAX_DROPPING_MS)
  try {
    for (let dropped = 0; dropped <= MAX_DROPPED_BYTES; ) {
      const { done, value } = await reader.read()
      if (done) return
      dropped += value.byteLength
    }
  } catch {
    // The time is over (a lock that is released ends the read), or the client went away: either way it is answered now.
  } finally {
    clearTimeout(timer)
  }
}
