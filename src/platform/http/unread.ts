// Drops a body that nobody reads, because the headers already decide or it is too large. Many clients read the answer only
// after they have sent everything, so they would miss it if the connection ended earlier.
//
// If the connection stays open, Bun answers at once and then drops the rest by itself, without memory. If the client asked to
// close it, Bun closes it with the answer, so we drop the rest here first, up to a limit.

const MAX_DROPPED_BYTES = 8 * 1024 * 1024
const MAX_DROPPING_MS = 10_000

/** The header Content-Length, which the server has validated; null for a chunked body or none. */
export const declaredBytes = (request: Request): number | null => {
  const declared = request.headers.get('content-length')
  return declared === null ? null : Number(declared)
}

export const hasBody = ({ headers }: Request): boolean =>
  headers.has('content-length') || headers.has('transfer-encoding')

/** Whether a request has a body and asks to close the connection after the answer. */
export const endsWithBody = (request: Request): boolean =>
  hasBody(request) && /\bclose\b/i.test(request.headers.get('connection') ?? '')

/** Receives and drops the unread part of a body, up to the limits above. */
export const dropUnread = async (request: Request): Promise<void> => {
  // A body is locked if somebody has read it.
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
    // The time is over (releasing the lock ends the read) or the client went away. Answer now in both cases.
  } finally {
    clearTimeout(timer)
  }
}
