// The keys of a wallet, opened as whoever has the database, the root key and the credentials would: to look for them.

import { pbkdf2Sync } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { mnemonicToSeedSync } from '@scure/bip39'
import { secretFromSeed } from '@scure/sr25519'
import postgres from 'postgres'
import { openDb } from '../../db/client.ts'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import type { RowIdentity } from '../../src/platform/sealing/envelope.ts'
import { deriveKey } from '../../src/platform/sealing/kdf.ts'
import { createProjectKeys } from '../../src/vault/rooms/root/project-keys.ts'
import { createRootKeys, openRootKey } from '../../src/vault/rooms/root/root-key.ts'
import {
  deriveWalletKey,
  identityOf,
  openControlKey,
  openDeveloperKey,
  openFamilyKeys,
  openSeed,
  openUserKey,
  openWalletKey,
} from '../../src/vault/rooms/sealing/hierarchy.ts'
import { stretchPin } from '../../src/vault/rooms/sealing/stretch.ts'
import { byTcp } from './postgres.ts'

export type NamedSecrets = Readonly<Record<string, Uint8Array>>

/** A text as the runtime has it in memory: one byte a character, or two. */
export const textSecrets = (name: string, text: string): NamedSecrets => ({
  [name]: Buffer.from(text),
  [`${name}, as UTF-16`]: Buffer.from(text, 'utf16le'),
})

/** What a mini-secret of sr25519 becomes for a signature. The number has its bytes as a big integer has them too. */
export const secretsOfMiniSecret = (miniSecret: Uint8Array): NamedSecrets => {
  const expanded = Buffer.from(secretFromSeed(miniSecret))
  // The key is the number times the cofactor, 8.
  const number = BigInt(`0x${Buffer.from(expanded.subarray(0, 32)).reverse().toString('hex')}`) / 8n
  const numberBytes = Buffer.from(number.toString(16).padStart(64, '0'), 'hex')
  return {
    'mini-secret': miniSecret,
    'expanded key': expanded.subarray(0, 32),
    'nonce seed': expanded.subarray(32),
    'expanded key as a number': Buffer.from(numberBytes).reverse(),
    'expanded key as a number, big-endian': numberBytes,
  }
}

/** The nodes of BIP-32 on the way to the first account of an EVM wallet. */
const nodesOf = (seed: Uint8Array): NamedSecrets => {
  let path = 'm'
  let node = HDKey.fromMasterSeed(seed)
  const nodes: Record<string, Uint8Array> = {}
  for (const step of ['', "44'", "60'", "0'", '0', '0']) {
    if (step !== '') {
      path += `/${step}`
      node = node.derive(`m/${step}`)
    }
    nodes[`key at ${path}`] = node.privateKey ?? new Uint8Array()
    nodes[`chain code at ${path}`] = node.chainCode ?? new Uint8Array()
  }
  return nodes
}

/** What comes from a phrase. */
export const secretsOfPhrase = (phrase: string, entropy: Uint8Array): NamedSecrets => {
  const seed = Buffer.from(mnemonicToSeedSync(phrase))
  const substrateSeed = pbkdf2Sync(entropy, 'mnemonic', 2048, 64, 'sha512')
  return {
    ...textSecrets('phrase', phrase),
    entropy,
    'BIP-39 seed': seed.subarray(0, 32),
    'end of the BIP-39 seed': seed.subarray(32),
    'end of the Substrate seed': substrateSeed.subarray(32),
    ...secretsOfMiniSecret(substrateSeed.subarray(0, 32)),
    ...nodesOf(seed),
  }
}

const bytesIn = (row: postgres.Row | undefined, column: string): Uint8Array => {
  const bytes: unknown = row?.[column]
  if (!(bytes instanceof Uint8Array)) throw new Error(`there is no ${column}`)
  return bytes
}

/** The keys of the hierarchy down to a wallet's, of a keyring that one mode controls. */
export const openedKeysOf = async (input: {
  readonly vaultVariables: Readonly<Record<string, string>>
  readonly wallet: WalletRow
  readonly secret: string
  /** Only for a user-controlled wallet. */
  readonly pin: string | null
}): Promise<{ readonly keys: NamedSecrets; readonly seed: Uint8Array; readonly privateKey: Uint8Array }> => {
  const { vaultVariables, wallet, secret, pin } = input
  const { projectId, ownerId, keyringId, controlMode, id: walletId } = wallet
  const url = vaultVariables.DATABASE_URL ?? ''
  const db = openDb({ url, maxConnections: 1, applicationName: 'opened-keys' })
  const sql = postgres(byTcp(url).href, { max: 1, onnotice: () => {} })
  try {
    const rootKey = await openRootKey(vaultVariables.ROOT_KEY ?? '')
    const projectKeys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
    const peel = (identity: RowIdentity, sealed: Uint8Array) => projectKeys.openOuter({ identity, sealed })
    const [developer] = await sql`select sealed, version from developer_keys where project_id = ${projectId}`
    const [user] = await sql`select sealed, salt, version from user_keys where owner_id = ${ownerId}`
    const [keyring] = await sql`select kind, sealed from keyrings where id = ${keyringId}`
    const [lock] = await sql`select id, sealed, family_keys from owner_locks where keyring_id = ${keyringId}`
    const [mine] = await sql`select sealed from wallet_keys where wallet_id = ${walletId}`

    const ofDeveloper = { projectId, version: Number(developer?.version) }
    const developerSealed = await peel(identityOf.developerKey(ofDeveloper), bytesIn(developer, 'sealed'))
    const developerKey = openDeveloperKey({ ...ofDeveloper, secret, sealed: developerSealed })
    const stretched = pin === null ? null : await stretchPin({ pin, salt: bytesIn(user, 'salt') })
    const ofUser = { projectId, ownerId, version: Number(user?.version) }
    const userSealed = user && (await peel(identityOf.userKey(ofUser), bytesIn(user, 'sealed')))
    const userKey = stretched && userSealed ? openUserKey({ ...ofUser, stretched, sealed: userSealed }) : null
    const credentialKey = controlMode === 'user' ? userKey : developerKey
    if (developerKey === null || credentialKey === null) throw new Error('a credential is wrong')

    const ofLock = { projectId, keyringId, lockId: String(lock?.id), controlMode }
    const controlSealed = await peel(identityOf.ownerLock(ofLock), bytesIn(lock, 'sealed'))
    const controlKey = openControlKey({ ...ofLock, credentialKey, sealed: controlSealed })
    const ofSeed = { projectId, keyringId, kind: keyring?.kind, controlModes: [controlMode] }
    const seedSealed = await peel(identityOf.seedLock(ofSeed), bytesIn(keyring, 'sealed'))
    const credentialKeyOf = { developer: developerKey, user: userKey }
    const ofWallet = { projectId, keyringId, walletId, controlKey }
    const familySealed: unknown = lock?.family_keys
    const families =
      familySealed instanceof Uint8Array ? openFamilyKeys({ ...ofLock, controlKey, sealed: familySealed }) : null
    return {
      keys: {
        'developer key': developerKey,
        'key for policies': deriveKey(developerKey, ['policies', projectId]),
        ...(stretched === null ? {} : { 'stretched PIN': stretched }),
        ...(userKey === null ? {} : { 'user key': userKey }),
        'control key': controlKey,
        'wallet key': deriveWalletKey(ofWallet),
        ...(families === null ? {} : { 'family keys': families }),
      },
      seed: openSeed({ ...ofSeed, credentialKeyOf, sealed: seedSealed }),
      privateKey: openWalletKey({ ...wallet, ...ofWallet, sealed: bytesIn(mine, 'sealed') }),
    }
  } finally {
    await sql.end()
    await db.close({ timeoutSeconds: 5 })
  }
}
