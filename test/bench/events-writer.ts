// Writes causes of events, so many a second, each in a transaction of its own, in turns over some projects: users of these. A process of its
// own, so that it takes no time of those who measure. SIGUSR2 lets it begin, and SIGUSR1 pause. Its arguments: the database's URL, how many
// a second, the projects.

import { randomUUID } from 'node:crypto'
import postgres from 'postgres'

const CONNECTIONS = 8
const TICK_MS = 10
/** Beyond these the database does not keep up, and no more are begun. */
const UNDER_WAY_MAX = 64

const [url = '', perSecond = '0', ...projects] = process.argv.slice(2)
const sql = postgres(url, { max: CONNECTIONS, onnotice: () => {} })
await sql`select 1`
process.stdout.write('writing\n')

let isPaused = true
let last = performance.now()
let due = 0
let written = 0
let underWay = 0
setInterval(() => {
  const now = performance.now()
  if (!isPaused) due += ((now - last) / 1000) * Number(perSecond)
  last = now
  for (; due >= 1; due -= 1) {
    if (underWay >= UNDER_WAY_MAX) continue
    underWay += 1
    written += 1
    void sql`insert into users (id, project_id, mac) values (${randomUUID()}, ${projects[written % projects.length] ?? ''}, '')`
      .then(() => {})
      .finally(() => {
        underWay -= 1
      })
  }
}, TICK_MS)
process.on('SIGUSR1', () => {
  isPaused = true
})
process.on('SIGUSR2', () => {
  isPaused = false
})
process.on('SIGTERM', () => process.exit(0))
