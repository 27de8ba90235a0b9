import { createServer } from 'node:net'

/** A port of 127.0.0.1 that is currently free. Somebody else may take it first, so the caller must retry with another. */
export const freePort = (): Promise<number> => {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('No free port was found.'))
        else resolve(address.port)
      })
    })
  })
}
