// What a vault's process has in its memory after requests, read from outside as whoever controls its machine would.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { mnemonicToAccount } from 'viem/accounts'
import { insertWallet } from '../../db/queries/wallets.ts'
import { walletMac } from '../../src/auth/row-macs.ts'
import { connectVault } from '../../src/custody/remote-vault.ts'
import type { Credentials, ImportedText, WalletRef } from '../../src/custody/vault.ts'
import { ACTOR, codeOf, SECRET, signOne } from '../custody/support.ts'
import { signerOnce } from '../support/keys.ts'
import { type Service, startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'

const PIECE_BYTES = 64 * 1024 * 1024

/** Long enough to be found nowhere by chance. */
const newText = (): string => randomBytes(24).toString('base64url')
/** Of the client's name: text that the vault keeps, so that the search is known to find what is there. */
const name = newText()

let service: Service
let vaultProcess: Awaited<ReturnType<typeof startVaultProcess>>
let vault: ReturnType<typeof connectVault>

beforeAll(async () => {
  service = await startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } })
  const socket = `${service.variables.VAULT_SOCKET}.process`
  vaultProcess = await startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET: socket })
  vault = connectVault({ sockets: [socket], name, onChange: () => {} })
})
afterAll(async () => {
  vault.close()
  await vaultProcess.stop()
  await service.close()
})

const newWallet = async (
  controlMode: 'developer' | 'user',
  credentials: Credentials,
  imported?: ImportedText,
): Promise<WalletRef> => {
  const { projectId } = service.project
  const of = { projectId, ownerId: randomUUID(), network: 'Ethereum', controlMode, type: 'eoa' } as const
  const id = randomUUID()
  const made = await vault.newWallet({ ...of, walletId: id, family: 'evm', imported, credentials, actor: ACTOR })
  const { keyringId, publicKey, address } = made
  const wallet = { ...of, id, keyringId, publicKey, address }
  await insertWallet(service.ctx.db, { ...wallet, name: 'w', mac: walletMac(service.ctx.identity).of(wallet) })
  return wallet
}

/** How often each is in the memory that the process can write. */
const timesInMemory = (texts: readonly (string | Uint8Array)[]): readonly number[] => {
  const memory = openSync(`/proc/${vaultProcess.pid}/mem`, 'r')
  const times = texts.map(() => 0)
  const piece = Buffer.alloc(PIECE_BYTES)
  for (const line of readFileSync(`/proc/${vaultProcess.pid}/maps`, 'utf8').split('\n')) {
    const [, from = '', to = '', mode = ''] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? []
    if (!mode.startsWith('rw')) continue
    const end = Number.parseInt(to, 16)
    // They overlap, for a text across two pieces.
    for (let at = Number.parseInt(from, 16); at < end; at += PIECE_BYTES - 64) {
      const length = readSync(memory, piece, 0, Math.min(PIECE_BYTES, end - at), at)
      for (const [index, text] of texts.entries()) {
        const found = piece.subarray(0, length)
        for (let next = found.indexOf(text); next >= 0; next = found.indexOf(text, next + 1)) {
          times[index] = (times[index] ?? 0) + 1
        }
      }
    }
  }
  closeSync(memory)
  return times
}

/** The runtime keeps what it read last from a socket until it reads as much again. */
const overwriteWhatWasReadLast = () =>
  codeOf(vault.publicKeyOf({ family: 'evm', imported: { privateKey: ' '.repeat(600_000) } }))

test.skipIf(process.platform !== 'linux')(
  'no PIN and no secret is left in it after a request, right or wrong',
  async () => {
    const [pin, newPin, wrongPin, wrongSecret] = [newText(), newText(), newText(), newText()]
    const wallet = await newWallet('user', { userPin: pin })
    const other = await newWallet('developer', { developerSecret: SECRET })
    const sign = (of: WalletRef, credentials: Credentials) =>
      codeOf(signOne(signerOnce(vault, { wallet: of, credentials, actor: ACTOR })))
    for (let times = 0; times < 5; times += 1) expect(await sign(wallet, { userPin: pin })).toBe('resolved')
    expect(await sign(wallet, { userPin: wrongPin })).toBe('INVALID_SECRET')
    expect(await sign(other, { developerSecret: wrongSecret })).toBe('INVALID_SECRET')
    await vault.changeUserPin({ wallet, oldPin: pin, newPin, actor: ACTOR })
    {
      using key = await vault.openKey({ wallet, credentials: { userPin: newPin }, actor: ACTOR })
      await signOne(key)
    }
    await overwriteWhatWasReadLast()
    const [ofName, ...left] = timesInMemory([name, pin, newPin, wrongPin, wrongSecret])
    expect(ofName).toBeGreaterThan(0)
    expect(left).toEqual([0, 0, 0, 0])
  },
)

test.skipIf(process.platform !== 'linux')('no private key is left in it after it has signed', async () => {
  const privateKey = randomBytes(32)
  const credentials = { developerSecret: SECRET }
  const imported = await newWallet('developer', credentials, { privateKey: privateKey.toString('hex') })
  const derived = await newWallet('developer', credentials)
  for (let times = 0; times < 5; times += 1) {
    for (const wallet of [imported, derived]) {
      await signOne(signerOnce(vault, { wallet, credentials, actor: ACTOR }))
      using key = await vault.openKey({ wallet, credentials, actor: ACTOR })
      await signOne(key)
    }
  }
  const { mnemonicPhrase } = await vault.exportKeyring({ wallet: derived, credentials, actor: ACTOR })
  const derivedKey = mnemonicToAccount(mnemonicPhrase ?? '').getHdKey().privateKey
  if (derivedKey === null) throw new Error('a phrase has a private key')
  const [ofName, ...left] = timesInMemory([name, privateKey, derivedKey])
  expect(ofName).toBeGreaterThan(0)
  expect(left).toEqual([0, 0])
})
