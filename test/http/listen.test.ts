import { afterAll, expect, test } from 'bun:test'
import { listen } from '../../src/platform/http/listen.ts'
import { createLog } from '../../src/platform/process/log.ts'

const MARK = 'marked-value-4711'

const server = listen({
  hostname: '127.0.0.1',
  port: 0,
  log: createLog({ config: { logLevel: 'silent' }, process: 'test' }),
  fetch: (request) => {
    if (new URL(request.url).pathname === '/late') return Promise.reject(new Error(MARK))
    throw new Error(MARK)
  },
})

afterAll(() => server.stop(true))

test('an unhandled error becomes an ordinary ErrorResponse without internal details', async () => {
  for (const path of ['/', '/late']) {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { accept: 'text/html' } })
    const text = await answer.text()
    expect(answer.status).toBe(500)
    expect(answer.headers.get('content-type')).toContain('application/json')
    expect(JSON.parse(text)).toEqual({ error: expect.any(String), code: 'internal' })
    expect(text).not.toContain(MARK)
  }
})
