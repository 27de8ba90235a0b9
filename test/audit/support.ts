import { randomUUID } from 'node:crypto'
import pino from 'pino'
import postgres, { type Sql } from 'postgres'
import { type Db, openDb } from '../../db/client.ts'
import { insertProject } from '../../db/queries/projects.ts'
import { createChainer } from '../../src/audit/chain.ts'
import { type NotedHead, verifyAudit } from '../../src/audit/verify.ts'
import { type Audit, type AuditAct, createAudit } from '../../src/custody/audit.ts'
import type { Sealer } from '../../src/custody/sealer.ts'
import { openTestSealer } from '../custody/support.ts'
import { createDatabase } from '../support/postgres.ts'

export type LogLine = { readonly msg: string; readonly level: number; readonly [name: string]: unknown }

/** A fresh database with two projects; rows are written as the API writes them, and chained as the worker chains them. */
export const openAudit = async () => {
  const database = await createDatabase({ withNetworks: true })
  const superuser: Sql = postgres(database.url, { max: 1, onnotice: () => {} })
  const api = openDb({ url: database.apiUrl, maxConnections: 5, applicationName: 'api' })
  const worker = openDb({ url: database.workerUrl, maxConnections: 5, applicationName: 'worker' })
  const sealer: Sealer = await openTestSealer()
  const clock = { now: new Date('2025-01-02T03:04:05.678Z') }
  const now = () => clock.now
  const audit: Audit = createAudit({ db: api, sealer, now })
  const projects = [randomUUID(), randomUUID()].sort()
  for (const id of projects) await insertProject(api, { id, name: 'Test', activatedAt: null })
  const [one = '', other = ''] = projects
  const lines: LogLine[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const chainer = () => createChainer({ db: worker, sealer, log, now })

  const act = (projectId: string | null = one, change: Partial<AuditAct> = {}): AuditAct => ({
    projectId,
    actor: 'operator',
    action: 'transaction_signed',
    subject: randomUUID(),
    details: { network: 'Ethereum', value: '1' },
    ...change,
  })

  return {
    ...{ database, superuser, api, worker, sealer, clock, audit, one, other, lines, chainer, act },
    /** Commits rows, one after the other. */
    write: async (...projectIds: readonly (string | null)[]) => {
      for (const projectId of projectIds) await audit.commit(act(projectId))
    },
    /** Chains all rows. */
    chain: async () => {
      const { step } = chainer()
      while ((await step()) === 'advanced');
    },
    verify: (input: { readonly chain?: string; readonly heads?: readonly NotedHead[] } = {}) =>
      verifyAudit({ db: worker, sealer }, { chain: null, heads: [], onProgress: () => {}, ...input }),
    /** Runs as the owner of the database, with the protecting triggers switched off. */
    tamper: (work: (sql: Sql) => Promise<unknown>) =>
      superuser.begin(async (sql) => {
        await sql`set local session_replication_role = replica`
        await work(sql as unknown as Sql)
      }),
    close: async () => {
      await superuser.end()
      for (const db of [api, worker] as readonly Db[]) await db.close({ timeoutSeconds: 5 })
      await database.close()
    },
  }
}

export type TestAudit = Awaited<ReturnType<typeof openAudit>>
