import { connect } from 'node:net'

/**
 * Sends bytes to an HTTP server unchanged, and reads its answer until it closes the connection.
 * @param input.parts are sent one after the other; a function can wait in between.
 */
export const sendRaw = async (input: {
  readonly url: string
  readonly parts: readonly (string | Uint8Array)[]
}): Promise<{ readonly status: number; readonly head: string; readonly body: string }> => {
  const { hostname, port } = new URL(input.url)
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  let text = ''
  const socket = connect(Number(port), hostname)
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  // A server may answer and close before it has received everything.
  socket.on('error', () => {})
  socket.on('close', () => resolve())
  for (const part of input.parts) socket.write(part)
  const answered = setInterval(() => {
    const [head = '', body = ''] = text.split('\r\n\r\n', 2)
    const length = /^content-length: ([0-9]+)$/im.exec(head)?.[1]
    if (length !== undefined && Buffer.byteLength(body, 'latin1') >= Number(length)) socket.destroy()
  }, 5)
  await closed
  clearInterval(answered)
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  return { status: Number(head.split(' ')[1] ?? 0), head, body }
}
