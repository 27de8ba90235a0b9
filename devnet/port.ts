import { createServer } from 'node:net'

/**
 * A port of 127.0.0.1 that was free a moment ago. Somebody else may take it before it is used, so whoever asks for one
 * tries again with another when that happens.
 */
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
