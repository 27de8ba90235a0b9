import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import { type Db, openDb } from '../../db/client.ts'
import { insertProject } from '../../db/queries/projects.ts'
import { verifyServiceRows } from '../../src/operators/audit/verify-service-rows.ts'
import { type AuditAct, createApiAudit, createVaultAudit, createWorkerAudit } from '../../src/platform/audit/audit.ts'
import { createLog } from '../../src/platform/process/log.ts'
import { createChainer } from '../../src/vault/rooms/chain/chain.ts'
import { type NotedHead, verifyAudit } from '../../src/vault/rooms/chain/verify.ts'
import { createDatabase } from '../support/postgres.ts'
import { TEST_DEPLOYMENT_KEY as deploymentKey, openTestIdentity, openTestSealer } from '../vault/support.ts'

export type LogLine = { readonly msg: string; readonly level: number; readonly [name: string]: unknown }

/**
 * A fresh database with two projects; rows are written and chained as a vault does it, and others written as the API
 * does it.
 */
export const openAudit = async () => {
  const database = await createDatabase({ withNetworks: true })
  const superuser = database.sql
  const api = openDb({ url: database.apiUrl, maxConnections: 5, applicationName: 'api' })
  const vault = openDb({ url: database.vaultUrl, maxConnections: 5, applicationName: 'vault' })
  const worker = openDb({ url: database.workerUrl, maxConnections: 1, applicationName: 'worker' })
  const [sealer, identity] = await Promise.all([openTestSealer(), openTestIdentity()])
  const clock = { now: new Date('2025-01-02T03:04:05.678Z') }
  const now = () => clock.now
  const audit = createVaultAudit({ db: vault, deploymentKey, now })
  const apiAudit = createApiAudit({ db: api, identity, now })
  const workerAudit = createWorkerAudit({ db: worker, sealer, now })
  const projects = [randomUUID(), randomUUID()].sort()
  for (const id of projects) await insertProject(api, { id, name: 'Test', activatedAt: null })
  const [one = '', other = ''] = projects
  const lines: LogLine[] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const log = createLog({ config: { logLevel: 'info' }, process: 'test', write })
  const chainer = () => createChainer({ db: vault, deploymentKey, log, now })

  const act = (projectId: string | null = one, change: Partial<AuditAct> = {}): AuditAct => ({
    projectId,
    actor: 'operator',
    action: 'transaction_signed',
    subject: randomUUID(),
    details: { network: 'Ethereum', value: '1' },
    ...change,
  })

  return {
    ...{ database, superuser, api, vault, worker, sealer, identity, clock, one, other, lines, chainer, act },
    ...{ audit, apiAudit, workerAudit },
    /** Commits rows, one after the other. */
    write: async (...projectIds: readonly (string | null)[]) => {
      for (const projectId of projectIds) await audit.commit(act(projectId))
    },
    /** Chains all rows. */
    chain: async () => {
      const { step } = chainer()
      while ((await step()) === 'advanced');
    },
    /** What the vault finds. */
    verify: (input: { readonly chain?: string; readonly heads?: readonly NotedHead[] } = {}) =>
      verifyAudit({ db: vault, deploymentKey }, { chain: null, heads: [], ...input }),
    /** What is found with the identity key and the service key. */
    verifyService: (chain: string | null = null) =>
      verifyServiceRows({ db: api, sealer, identity }, { chain, onProgress: () => {} }),
    /** Runs as the owner of the database, with the protecting triggers switched off. */
    tamper: (work: (sql: Sql) => Promise<unknown>) =>
      superuser.begin(async (sql) => {
        await sql`set local session_replication_role = replica`
        await work(sql as unknown as Sql)
      }),
    close: async () => {
      for (const db of [api, vault, worker] as readonly Db[]) await db.close({ timeoutSeconds: 5 })
      await database.close()
    },
  }
}

export type TestAudit = Awaited<ReturnType<typeof openAudit>>
