import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 50

/**
 * A port of 127.0.0.1 that is currently free. Another process may take it first, so the caller must retry with another.
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

const canListen = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    // On a machine without IPv6 no process listens there.
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'EADDRINUSE' && error.code !== 'EACCES'),
    )
    server.listen(port, host, () => server.close(() => resolve(true)))
  })

/** Both addresses of `localhost`, because a browser may use either and must not reach another program. */
const isFree = async (port: number): Promise<boolean> =>
  (await canListen(port, '127.0.0.1')) && (await canListen(port, '::1'))

/** Waits until a port of this machine is free. @returns whether it is after `graceMs` */
export const becomesFree = async (port: number, graceMs: number): Promise<boolean> => {
  const deadline = Date.now() + graceMs
  while (!(await isFree(port))) {
    if (Date.now() >= deadline) return false
    await sleep(POLL_MS)
  }
  return true
}
