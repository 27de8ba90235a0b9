// A client with a thousand sessions, as a process of its own: Bun sends as many requests at once as it was started for.

import { percentile } from './load.ts'
import { measureCpu } from './usage.ts'

const { BASE_URL = '', PROJECT_ID = '', API_PID, POSTGRES_PID, SESSIONS, SECONDS } = process.env
const LOGINS_AT_ONCE = 32

type Session = { readonly id: string; readonly refresh_token: string; readonly access_token: string }

const post = async (path: string, body: object, index: number): Promise<Session> => {
  const response = await fetch(BASE_URL + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-walletkit-project-id': PROJECT_ID,
      'x-forwarded-for': `10.1.${index >> 8}.${index & 255}`,
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

export type RefreshRun = {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly requests: number
  /** The API's process and the database's, for one refresh. */
  readonly cpuMs: { readonly api: number; readonly postgres: number }
  /** The first access token of each session. */
  readonly tokens: readonly string[]
}

const logIn = async (): Promise<readonly Session[]> => {
  const sessions: Session[] = []
  let begun = 0
  const client = async () => {
    for (let index = begun++; index < Number(SESSIONS); index = begun++) {
      sessions.push(await post('/users/login-anonymously', {}, index))
    }
  }
  await Promise.all(Array.from({ length: LOGINS_AT_ONCE }, client))
  return sessions
}

const run = async (): Promise<RefreshRun> => {
  const sessions = await logIn()
  const latencies: number[] = []
  const refreshing = async (first: Session, index: number, end: number): Promise<void> => {
    for (let session = first; performance.now() < end; ) {
      const { id, refresh_token } = session
      const sent = performance.now()
      session = await post('/users/refresh-token', { session_id: id, refresh_token }, index)
      latencies.push(performance.now() - sent)
      if (session.id !== id || session.refresh_token === refresh_token) throw new Error('a refresh brought nothing new')
    }
  }
  const { cpuMs, wallMs } = await measureCpu({ api: Number(API_PID), postgres: Number(POSTGRES_PID) }, () => {
    const end = performance.now() + Number(SECONDS) * 1000
    return Promise.all(sessions.map((session, index) => refreshing(session, index, end)))
  })
  const sorted = latencies.sort((a, b) => a - b)
  const requests = sorted.length
  return {
    requests,
    perSecond: (requests / wallMs) * 1000,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    cpuMs: { api: cpuMs.api / requests, postgres: cpuMs.postgres / requests },
    tokens: sessions.map((session) => session.access_token),
  }
}

process.stdout.write(`done ${JSON.stringify(await run())}\n`)
