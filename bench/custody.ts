import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { stretchPin } from '../src/vault/rooms/sealing/stretch.ts'
import type { Service } from '../test/support/service.ts'
import { headersOf, type LoadResult, load } from './load.ts'
import { startStack } from './stack.ts'

const SECONDS = 4
const PIN = '493817'
const OWNERS = 16
const PARALLEL_PINS = 64

export type CustodyBench = {
  readonly developerWallets: LoadResult
  readonly userWallets: LoadResult
  readonly bareArgon2PerSecond: number
  readonly pinSignatures: LoadResult
  /** Signatures with a PIN over bare argon2id on all cores, in the same run. */
  readonly pinRatio: number
  readonly memory: { readonly beforeMiB: number; readonly peakMiB: number }
}

/** argon2id with the service's own parameters and nothing else, on all cores. */
const bareArgon2 = async (): Promise<number> => {
  const salt = new Uint8Array(16)
  const end = performance.now() + SECONDS * 1000
  let count = 0
  const one = async () => {
    while (performance.now() < end) {
      await stretchPin({ pin: PIN, salt })
      count += 1
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, one))
  return count / SECONDS
}

const memoryOf = (pid: number, field: 'VmRSS' | 'VmHWM'): number => {
  const kibibytes = new RegExp(`${field}:\\s+([0-9]+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) / 1024
}

/** Wallets in both modes, signing with a PIN against bare argon2id, and the vault's memory with 64 PINs at once. */
export const benchCustody = async (service: Service): Promise<CustodyBench> => {
  const wallets = await Promise.all(
    Array.from({ length: OWNERS }, (_, owner) =>
      service.newWallet({ network: 'Ethereum', ownerId: `o${owner}`, pin: PIN }),
    ),
  )
  const stack = await startStack(service)
  const headers = headersOf(service)
  const run = (path: string, atOnce: number, body: (index: number) => unknown) =>
    load({
      url: `${stack.url}${path}`,
      request: (index) => ({ method: 'POST', headers, body: JSON.stringify(body(index)) }),
      atOnce,
      seconds: SECONDS,
    })
  const newWallet = (credential: Record<string, string>) => () => ({
    network: 'Ethereum',
    name: 'B',
    owner_id: randomUUID(),
    ...credential,
  })
  const developer = { control_mode: 'developer', developer_secret: 'testnet-secret' }
  try {
    const developerWallets = await run('/wallets', 32, newWallet(developer))
    const userWallets = await run('/wallets', 32, newWallet({ control_mode: 'user', user_pin: PIN }))
    const bareArgon2PerSecond = await bareArgon2()
    const beforeMiB = memoryOf(stack.pids.vault, 'VmRSS')
    const pinSignatures = await run('/transactions/sign', PARALLEL_PINS, (index) =>
      signature(wallets[index % OWNERS]?.address ?? '', index),
    )
    return {
      developerWallets,
      userWallets,
      bareArgon2PerSecond,
      pinSignatures,
      pinRatio: pinSignatures.perSecond / bareArgon2PerSecond,
      memory: { beforeMiB, peakMiB: memoryOf(stack.pids.vault, 'VmHWM') },
    }
  } finally {
    await stack.stop()
  }
}

const signature = (signer: string, nonce: number) => ({
  network: 'Ethereum',
  signer_wallet_address: signer,
  user_pin: PIN,
  unsigned_transaction: {
    to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    value: '1',
    gasLimit: '21000',
    maxFeePerGas: '30000000000',
    maxPriorityFeePerGas: '1000000000',
    nonce: String(nonce),
  },
})
