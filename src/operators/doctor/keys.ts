// Whether the keys of this process belong to the database, whether each vault does, and the files that they need.

import { X509Certificate } from 'node:crypto'
import { readFile, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { HasDb } from '../../../db/client.ts'
import type { Config, HasConfig } from '../../platform/config.ts'
import { bindingsOf, checkDeployment, requireEnvironment } from '../../platform/deployment.ts'
import { explainFailure } from '../../platform/environment/failure.ts'
import { openSealer, type Sealer } from '../../platform/sealing/sealer.ts'
import { connectVault } from '../../vault/client/remote-vault.ts'
import { LACKING_WORDS, type Lacking } from '../../vault/contract/contract.ts'
import { type Finding, findingsOf } from './finding.ts'
import { journalFinding } from './judge.ts'

const CERTIFICATE_WARNING_DAYS = 30
const DAY_MS = 86_400_000

const openKey = async (
  config: Config,
  name: 'SERVICE_KEY' | 'IDENTITY_KEY',
): Promise<{ readonly key: Sealer | null; readonly findings: readonly Finding[] }> => {
  const { failed, unchecked } = findingsOf(name)
  const [spec, otherSpec] =
    name === 'SERVICE_KEY' ? [config.serviceKey, config.otherServiceKey] : [config.identityKey, config.otherIdentityKey]
  if (spec === null) return { key: null, findings: [unchecked('it is not set here')] }
  try {
    return { key: await openSealer({ name, spec, otherSpec }), findings: [] }
  } catch (error) {
    return { key: null, findings: [failed('it cannot be read', explainFailure(error))] }
  }
}

/** Compares the keys with those of the database, and changes nothing there. */
export const checkKeys = async ({ config, db }: HasConfig & HasDb): Promise<readonly Finding[]> => {
  const [service, identity] = [await openKey(config, 'SERVICE_KEY'), await openKey(config, 'IDENTITY_KEY')]
  const findings = [...service.findings, ...identity.findings]
  const { ok, failed, unchecked } = findingsOf('keys')
  const { environment } = config
  try {
    const { identityKeyId } = await requireEnvironment({ db, environment })
    if (service.key === null) return [...findings, ok('the environment belongs to this database')]
    // The check would make these keys the database's own.
    if (identityKeyId === null) return [...findings, unchecked('the database has no keys before the first API starts')]
    await checkDeployment({
      db,
      environment,
      networks: bindingsOf(config),
      sealer: service.key,
      identity: identity.key,
    })
    return [...findings, ok('environment, networks and keys belong to this database')]
  } catch (error) {
    return [
      ...findings,
      failed(
        explainFailure(error),
        'Use the keys, the environment and the networks with which the database was set up.',
      ),
    ]
  }
}

const LACKING_ADVICE = {
  records: 'Run "bun run cli restore".',
  rows_of_notes:
    'If it stays so for a minute, look into the log of an API: perhaps it does not reach all vaults. Start them, or run "bun run cli restore".',
} as const satisfies Readonly<Record<NonNullable<Lacking>, string>>

const checkVault = async (config: Config, socket: string): Promise<Finding> => {
  const { ok, failed } = findingsOf(`vault ${socket}`)
  let reason = ''
  let vault: ReturnType<typeof connectVault> | null = null
  try {
    // It also throws if the certificate's files cannot be used.
    vault = connectVault({
      sockets: [socket],
      tls: config.vaultTls,
      name: 'strongroom-doctor',
      onChange: () => {},
      onUnreached: ({ error }) => {
        reason = error?.message ?? 'it closed the connection, or said nothing'
      },
    })
    const { rootKeyIds, lacking, argon2 } = await vault.status()
    if (lacking !== null) return failed(LACKING_WORDS[lacking], LACKING_ADVICE[lacking])
    return ok(`it has the root key ${rootKeyIds.join(' and ')}; PINs that wait: ${argon2.waiting}`)
  } catch (error) {
    return failed(
      `it does not serve: ${reason || explainFailure(error)}`,
      'Check that it runs, that its socket is in a folder that this user may enter, and its log ("The vault" in docs/operations.md).',
    )
  } finally {
    vault?.close()
  }
}

export const checkVaults = async (config: Config): Promise<readonly Finding[]> => {
  if (config.vaultSockets.length === 0) return [findingsOf('vault').unchecked('VAULT_SOCKET is not set here')]
  return Promise.all(config.vaultSockets.map((socket) => checkVault(config, socket)))
}

export const checkCertificates = async ({ vaultTls, vaultListen }: Config): Promise<readonly Finding[]> => {
  const { ok, warning, failed } = findingsOf('vault certificate')
  const files = vaultTls ?? vaultListen?.files ?? null
  if (files === null) return []
  return Promise.all(
    [files.certFile, files.caFile].map(async (path) => {
      try {
        const ends = new Date(new X509Certificate(await readFile(path)).validTo)
        const days = Math.floor((ends.getTime() - Date.now()) / DAY_MS)
        const found = `${path} is valid until ${ends.toISOString()}`
        if (days < 0) return failed(found, 'Renew it: no connection is made with it.')
        return days < CERTIFICATE_WARNING_DAYS ? warning(found, 'Renew it.') : ok(found)
      } catch (error) {
        return failed(`${path} cannot be read`, explainFailure(error))
      }
    }),
  )
}

/** The space beside the journals, where this process has the vault's variables. */
export const checkJournals = async ({ vaultJournals }: Config): Promise<readonly Finding[]> =>
  Promise.all(
    vaultJournals.map(async (path) => {
      try {
        const { bavail, bsize } = await statfs(dirname(path))
        return journalFinding({ path, freeBytes: bavail * bsize })
      } catch (error) {
        return findingsOf('journal').failed(`the folder of ${path} cannot be read`, explainFailure(error))
      }
    }),
  )
