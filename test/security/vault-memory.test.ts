// What a vault's process has in its memory after requests, read from outside as whoever controls its machine would.

import { expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { entropyToMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import { insertWallet } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import { walletMac } from '../../src/identity/auth/row-macs.ts'
import { connectVault } from '../../src/vault/client/remote-vault.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { ImportedText } from '../../src/vault/contract/vault.ts'
import { readRecoveryCode } from '../../src/vault/rooms/credentials/user-secret.ts'
import type { ExportedKeyring } from '../../src/vault/rooms/wallets/keyring.ts'
import { commonService } from '../support/common-service.ts'
import { messageSigner, signerOnce } from '../support/keys.ts'
import { isLeftOut, isLong, someOf } from '../support/long.ts'
import {
  type NamedSecrets,
  openedKeysOf,
  secretsOfMiniSecret,
  secretsOfPhrase,
  textSecrets,
} from '../support/opened-keys.ts'
import { timesInMemory } from '../support/process-memory.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startVaultProcess } from '../support/vault.ts'
import {
  ACTOR,
  codeOf,
  EVM_MESSAGE,
  EVM_PAYLOAD,
  newTerms,
  payloadFor,
  SECRET,
  SUBSTRATE_MESSAGE,
  SUBSTRATE_PAYLOAD,
  signOne,
  textOf,
} from '../vault/support.ts'

const EVM = [EVM_PAYLOAD, EVM_MESSAGE] as const
const SUBSTRATE = [SUBSTRATE_PAYLOAD, SUBSTRATE_MESSAGE] as const

const KEY_BYTES = 32
/** How often each secret is used. */
const TIMES = isLong ? 5 : 2
/** The letters of recovery codes. */
const LETTERS = 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'

/** Long enough to be found nowhere by chance. */
const newText = (): string => randomBytes(24).toString('base64url')
/** Part of the client's name: text that the vault keeps, so that the search is known to find what is there. */
const name = newText()

const service = await commonService()
const socket = `${service.variables.VAULT_SOCKET}.process`
const vaultProcess = await shared(startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET: socket }))
const vault = connectVault({ sockets: [socket], name, onChange: () => {} })
afterTests(() => vault.close())

const familyOf = (network: Network) => (network === 'Polkadot' ? 'substrate' : 'evm')

const newWallet = async (
  controlMode: 'developer' | 'user',
  credentials: Credentials,
  { network = 'Ethereum', imported }: { readonly network?: Network; readonly imported?: ImportedText } = {},
): Promise<WalletRow> => {
  const { projectId } = service.project
  const of = { projectId, ownerId: randomUUID(), network, controlMode, type: 'eoa' } as const
  const id = randomUUID()
  const family = familyOf(network)
  const made = await vault.newWallet({ ...of, walletId: id, family, imported, credentials, actor: ACTOR })
  const { keyringId, publicKey, address } = made
  const wallet = { ...of, id, keyringId, publicKey, address }
  await insertWallet(service.ctx.db, { ...wallet, name: 'w', mac: walletMac(service.ctx.identity).of(wallet) })
  return wallet
}

/** The middle of a key, because its ends may be changed for use, as in X25519. */
const middleOf = (bytes: Uint8Array): Uint8Array =>
  bytes.length === KEY_BYTES ? bytes.subarray(KEY_BYTES / 4, (3 * KEY_BYTES) / 4) : bytes

/** Which of them are in its memory, and how often; of keys, as bytes or in hex. */
const foundOf = (secrets: NamedSecrets): Record<string, number> => {
  const looked = Object.entries(secrets).flatMap(([of, bytes]) => {
    const hex = Buffer.from(middleOf(bytes)).toString('hex')
    return [[of, middleOf(bytes)] as const, [`${of}, in hex`, hex] as const]
  })
  const [ofName = 0, ...times] = timesInMemory(vaultProcess.pid, [name, ...looked.map(([, text]) => text)])
  expect(ofName).toBeGreaterThan(0)
  return Object.fromEntries(
    looked.map(([of], index) => [of, times[index] ?? 0] as const).filter(([, many]) => many > 0),
  )
}

/** The runtime keeps what it read last from a socket until it reads as much again. */
const overwriteWhatWasReadLast = () =>
  codeOf(newWallet('developer', {}, { imported: { privateKey: ' '.repeat(600_000) } }))

test.skipIf(process.platform !== 'linux')(
  'no PIN and no secret is left in it after a request, right or wrong',
  async () => {
    const [pin, newPin, wrongPin, wrongSecret] = [newText(), newText(), newText(), newText()]
    const wallet = await newWallet('user', { userPin: pin })
    const other = await newWallet('developer', { developerSecret: SECRET })
    const sign = (of: WalletRow, credentials: Credentials) =>
      codeOf(signOne(signerOnce(vault, { wallet: of, credentials, actor: ACTOR })))
    for (let times = 0; times < TIMES; times += 1) expect(await sign(wallet, { userPin: pin })).toBe('resolved')
    expect(await sign(wallet, { userPin: wrongPin })).toBe('INVALID_SECRET')
    for (let times = 0; times < TIMES; times += 1) {
      expect(await sign(other, { developerSecret: wrongSecret })).toBe('INVALID_SECRET')
    }
    await vault.changeUserPin({ wallet, oldPin: pin, newPin, actor: ACTOR })
    {
      using key = await vault.openKey({ wallet, credentials: { userPin: newPin }, actor: ACTOR })
      await signOne(key)
    }
    await overwriteWhatWasReadLast()
    const [ofName, ...left] = timesInMemory(vaultProcess.pid, [name, pin, newPin, wrongPin, wrongSecret])
    expect(ofName).toBeGreaterThan(0)
    expect(left).toEqual([0, 0, 0, 0])
  },
)

test.skipIf(process.platform !== 'linux')(
  'no recovery code and no secret of a passkey is left in it after a request, right or wrong',
  async () => {
    const pin = newText()
    const wallet = await newWallet('user', { userPin: pin })
    const request = (credentials: Credentials) => ({ wallet, credentials, actor: ACTOR })
    const sign = (userSecret: string) => codeOf(signOne(signerOnce(vault, request({ userSecret }))))
    const [passkey, wrong] = [randomBytes(32), randomBytes(32)]
    const { recoveryCode } = await vault.newRecoveryCode(request({ userPin: pin }))
    const code = textOf(recoveryCode)
    const passkeySecret = passkey.toString('base64url')
    await vault.addPasskeySecret({ ...request({ userSecret: code }), passkeyId: 'key-1', passkeySecret })
    for (let times = 0; times < TIMES; times += 1) {
      expect([await sign(code), await sign(passkeySecret)]).toEqual(['resolved', 'resolved'])
      expect(await sign(wrong.toString('base64url'))).toBe('INVALID_SECRET')
      expect(await sign(`${code.slice(0, -1)}!`)).toBe('invalid_input')
    }
    await vault.changeUserPin({ wallet, userSecret: code, newPin: newText(), actor: ACTOR })
    await overwriteWhatWasReadLast()
    const bare = code.replaceAll('-', '')
    const found = foundOf({
      ...textSecrets('code', code),
      ...textSecrets('code without hyphens', bare),
      'bits of the code': readRecoveryCode(code) ?? new Uint8Array(),
      'values of the letters': Uint8Array.from(bare.slice(0, 24), (letter) => LETTERS.indexOf(letter)),
      ...textSecrets('passkey', passkeySecret),
      'bytes of the passkey': passkey,
      ...textSecrets('wrong passkey', wrong.toString('base64url')),
      'bytes of a wrong passkey': wrong,
    })
    expect(found).toEqual({})
  },
)

const credentials = { developerSecret: SECRET }

/** Makes it do all that needs the wallet's key or its seed, more than once. */
const useAll = async (wallet: WalletRow, by: Credentials): Promise<ExportedKeyring> => {
  const request = { wallet, credentials: by, actor: ACTOR }
  const [payload, message] = familyOf(wallet.network) === 'substrate' ? SUBSTRATE : EVM
  for (let times = 0; times < TIMES; times += 1) {
    await signOne(signerOnce(vault, request), payload)
    await signOne(messageSigner(vault, request), message)
    using key = await vault.openKey(request)
    await signOne(key, payload)
  }
  return await vault.exportKeyring(request)
}

/** It makes a policy of the wallet, and signs by it more than once. */
const useByPolicy = async (wallet: WalletRow, by: Credentials): Promise<void> => {
  const terms = newTerms(wallet)
  await vault.newPolicy({ wallet, credentials: { ...credentials, ...by }, actor: ACTOR, name: '', terms })
  const uses = [{ action: 'transaction_signed', details: {}, payloads: [payloadFor(wallet)] }] as const
  const request = { wallet, credentials, actor: ACTOR, limit: 1 }
  for (let times = 0; times < TIMES; times += 1) {
    using policies = await vault.openPolicies(request)
    await policies.sign({ policyId: terms.id, spends: { value: 0n, fee: 0n } }, ...uses)
  }
}

/** All secrets of a wallet that was used by its credential and by a policy. */
const secretsOf = async (wallet: WalletRow, by: Credentials, pin: string | null): Promise<NamedSecrets> => {
  const { mnemonicPhrase } = await useAll(wallet, by)
  if (mnemonicPhrase === null) throw new Error('a wallet from a seed has a phrase')
  if (pin !== null) await useByPolicy(wallet, by)
  const { vaultVariables } = service
  const { keys, privateKey, seed } = await openedKeysOf({ vaultVariables, wallet, secret: SECRET, pin })
  return { ...keys, 'private key': privateKey, ...secretsOfPhrase(textOf(mnemonicPhrase), seed) }
}

/**
 * What the platform's AES, X25519 and PBKDF2 were given is in memory that it has freed, or will free when it collects:
 * further requests use that again. For Polkadot PBKDF2 is given the entropy of a phrase.
 */
const LATE_TO_GO = /: (?:wallet key|key for policies)$|(?:Polkadot|phrase): entropy$/
/** Far more than it takes. */
const ROUNDS_MAX = 100
const REQUESTS_A_ROUND = 20

const roundOfRequests = async (wallet: WalletRow): Promise<void> => {
  for (let requests = 0; requests < REQUESTS_A_ROUND; requests += 1) {
    await signOne(signerOnce(vault, { wallet, credentials, actor: ACTOR }))
    await overwriteWhatWasReadLast()
  }
}

/** Makes further requests until the secrets are gone, or after far more than it takes. @returns what is left of them */
const untilGone = async (late: Readonly<Record<string, Uint8Array>>): Promise<Record<string, number>> => {
  const another = await newWallet('developer', credentials)
  let found = foundOf(late)
  for (let rounds = 0; rounds < ROUNDS_MAX && Object.keys(found).length > 0; rounds += 1) {
    const mnemonicPhrase = entropyToMnemonic(randomBytes(32), wordlist)
    await newWallet('developer', credentials, { network: 'Polkadot', imported: { mnemonicPhrase } })
    await roundOfRequests(another)
    found = foundOf(late)
  }
  return found
}

test.skipIf(process.platform !== 'linux')(
  `no private key, seed or phrase, and no other key of the hierarchy, remains after use${isLong ? '' : ', nor of an import'}`,
  async () => {
    const pin = newText()
    const [late, others]: [Record<string, Uint8Array>, Record<string, Uint8Array>] = [{}, {}]
    const lookFor = (secrets: NamedSecrets, of = '') => {
      for (const [each, bytes] of Object.entries(secrets))
        (LATE_TO_GO.test(of + each) ? late : others)[of + each] = bytes
    }
    // In the suite one search of the memory is for both.
    if (!isLong) lookFor(await useImported())
    for (const network of isLong ? (['Ethereum', 'Polkadot'] as const) : (['Ethereum'] as const)) {
      // By the policy the user's wallet is used with the developer secret too.
      const developer = isLong
        ? { developer: await secretsOf(await newWallet('developer', credentials, { network }), credentials, null) }
        : {}
      const byCredential = {
        ...developer,
        user: await secretsOf(await newWallet('user', { userPin: pin }, { network }), { userPin: pin }, pin),
      }
      for (const [mode, all] of Object.entries(byCredential)) lookFor(all, `${mode}, ${network}: `)
    }
    await overwriteWhatWasReadLast()
    expect(foundOf(others)).toEqual({})
    expect(await untilGone(late)).toEqual({})
    // None of the others has come back.
    if (isLong) expect(foundOf(others)).toEqual({})
  },
)

/** Imports keys and phrases, and uses their wallets. @returns all that is secret of them */
const useImported = async (): Promise<NamedSecrets> => {
  const [evm, miniSecret, entropy] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const phrase = entropyToMnemonic(entropy, wordlist)
  const imports = [
    ['Ethereum', { privateKey: evm.toString('hex') }],
    ['Polkadot', { privateKey: `0x${miniSecret.toString('hex')}` }],
    ['Ethereum', { mnemonicPhrase: phrase }],
    ['Polkadot', { mnemonicPhrase: phrase.toUpperCase() }],
  ] as const
  for (const [network, imported] of someOf(imports, 3)) {
    await useAll(await newWallet('developer', credentials, { network, imported }), credentials)
  }
  const ofPhrase = Object.entries(secretsOfPhrase(phrase, entropy)).map(([each, of]) => [`phrase: ${each}`, of])
  return {
    'EVM key': evm,
    ...textSecrets('EVM key as text', evm.toString('hex')),
    ...secretsOfMiniSecret(miniSecret),
    ...textSecrets('mini-secret as text', miniSecret.toString('hex')),
    ...Object.fromEntries(ofPhrase),
    ...textSecrets('phrase in capitals', phrase.toUpperCase()),
  }
}

const isLeft = isLeftOut('what remains of an imported key or phrase, by itself')
test.skipIf(isLeft || process.platform !== 'linux')('nothing of an imported key or phrase remains', async () => {
  const all = await useImported()
  await overwriteWhatWasReadLast()
  const isLate = ([of]: readonly [string, Uint8Array]) => LATE_TO_GO.test(of)
  expect(foundOf(Object.fromEntries(Object.entries(all).filter((each) => !isLate(each))))).toEqual({})
  expect(await untilGone(Object.fromEntries(Object.entries(all).filter(isLate)))).toEqual({})
  expect(foundOf(all)).toEqual({})
})

const coreLimitOf = (pid: number): string =>
  /^Max core file size +(\S+) +(\S+)/m
    .exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))
    ?.slice(1)
    .join(' ') ?? ''

test.skipIf(process.platform !== 'linux')('the kernel writes none of it to a core dump', () => {
  expect(coreLimitOf(vaultProcess.pid)).toBe('0 0')
  expect(vaultProcess.output()).not.toContain('core dumps cannot be turned off')
})

test.skipIf(process.platform !== 'linux')(
  'forbidCoreDumps turns core dumps off and says whether it could',
  async () => {
    const script = `
    import { forbidCoreDumps } from ${JSON.stringify(fileURLToPath(new URL('../../src/platform/process/libc.ts', import.meta.url)))}
    const { dlopen } = await import('bun:ffi')
    const { prctl } = dlopen('libc.so.6', { prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' } }).symbols
    const PR_GET_DUMPABLE = 3
    console.log(JSON.stringify([prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), await forbidCoreDumps(), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)]))`
    const child = Bun.spawn(['bun', '-e', script], {
      env: { PATH: process.env.PATH ?? '' },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    expect(JSON.parse(await new Response(child.stdout).text())).toEqual([1, true, 0])
  },
)
