// The contexts of commands that ask no node and open no wallet; those of contexts.ts are built on them. They load
// neither the families of chains nor the vault, which takes four fifths of the time in which another process starts.

import { type Db, openDb } from '../../db/client.ts'
import type { AuditingCtx, ReadingCtx } from '../operators/ctx.ts'
import { createApiAudit, createWorkerAudit, type HasWorkerAudit } from '../platform/audit/audit.ts'
import type { Config, Process } from '../platform/config.ts'
import { bindingsOf, checkDeployment, requireEnvironment } from '../platform/deployment.ts'
import { requireSchema, requireSession } from '../platform/environment/database.ts'
import { type HasSealer, openSealer, type Sealer } from '../platform/sealing/sealer.ts'

type ServiceCtx = ReadingCtx & HasSealer & HasWorkerAudit

export const openUnchecked = ({ config, process }: Process): ReadingCtx => {
  const db = openDb({
    url: config.databaseUrl.reveal(),
    maxConnections: config.databaseMaxConnections,
    applicationName: `strongroom-${process}`,
  })
  return { config, db, now: () => new Date(), close: db.close }
}

/** Opens the database. If a check fails, the connections are closed: a worker tries again. */
export const openChecked = async <Checked>(
  input: Process,
  check: (db: Db) => Promise<Checked>,
): Promise<ReadingCtx & { readonly checked: Checked }> => {
  const base = openUnchecked(input)
  try {
    await requireSession(base.db)
    await requireSchema(base.db)
    return { ...base, checked: await check(base.db) }
  } catch (error) {
    await base.close({ timeoutSeconds: 1 })
    throw error
  }
}

const openServiceKey = ({ serviceKey: spec, otherServiceKey: otherSpec }: Config): Promise<Sealer> => {
  if (spec === null) throw new Error('SERVICE_KEY must be where the service key is: file:/path or fd:N.')
  return openSealer({ name: 'SERVICE_KEY', spec, otherSpec })
}

const openIdentityKey = ({ identityKey: spec, otherIdentityKey: otherSpec }: Config): Promise<Sealer> => {
  if (spec === null) throw new Error('IDENTITY_KEY must say where the identity key is: file:/path or fd:N.')
  return openSealer({ name: 'IDENTITY_KEY', spec, otherSpec })
}

/** @throws NotReadyYet if another process must come first, Error if a key or the environment is of another database. */
const createKeyedCtx = async (input: Process, identity: Sealer | null): Promise<ReadingCtx & HasSealer> => {
  const { config } = input
  const sealer = await openServiceKey(config)
  const { environment } = config
  const base = await openChecked(input, (db) =>
    checkDeployment({ db, environment, networks: bindingsOf(config), sealer, identity }),
  )
  return { ...base, sealer }
}

/** @throws Error if the environment does not belong to the database. */
export const createReadingCtx = (input: Process): Promise<ReadingCtx> =>
  openChecked(input, (db) => requireEnvironment({ db, environment: input.config.environment }))

/** @throws NotReadyYet if the process comes before the first vault, and Error as `createKeyedCtx` says. */
export const createServiceCtx = async (input: Process): Promise<ServiceCtx> => {
  const base = await createKeyedCtx(input, null)
  return { ...base, audit: createWorkerAudit(base) }
}

/** For the command that replaces a lost identity key: the database still belongs to that one. */
export const createLostIdentityCtx = async (input: Process): Promise<AuditingCtx> => {
  const [sealer, identity] = [await openServiceKey(input.config), await openIdentityKey(input.config)]
  if (sealer.id === identity.id) throw new Error('IDENTITY_KEY and SERVICE_KEY must be two different keys.')
  const base = { ...(await createReadingCtx(input)), sealer, identity }
  return { ...base, audit: createApiAudit(base) }
}

/** @throws Error like createServiceCtx, and for the identity key. */
export const createIdentityCtx = async (input: Process): Promise<AuditingCtx> => {
  const identity = await openIdentityKey(input.config)
  const base = { ...(await createKeyedCtx(input, identity)), identity }
  return { ...base, audit: createApiAudit(base) }
}
