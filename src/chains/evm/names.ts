// Resolves names (ENS): a name is normalised (ENSIP-15), hashed (EIP-137) and looked up in the registry. A parent's
// resolver answers for a name only as a wildcard (ENSIP-10). A resolver that needs data from a URL reverts (EIP-3668).
// The server does not open URLs of strangers, so such a name has no address here.

import { decodeAbiParameters, encodeFunctionData, parseAbi, toHex } from 'viem/utils'
import { AppError } from '../../platform/errors.ts'
import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { Hex, Names } from '../chain.ts'
import type { Answer, Rpc } from '../node/rpc.ts'
import { hexText } from '../node/wire.ts'
import { addressIn, decoded, readQuestion, returned, wordIn } from './call.ts'

const ABI = parseAbi([
  'function resolver(bytes32 node) view returns (address)',
  'function supportsInterface(bytes4 interfaceID) view returns (bool)',
  'function addr(bytes32 node) view returns (address)',
  'function resolve(bytes name, bytes data) view returns (bytes)',
])

/** ENSIP-10: `resolve(bytes,bytes)`. */
const EXTENDED_RESOLVER = '0x9061b923'
const READ_GAS_LIMIT = 5_000_000n
/** In bytes: RFC 1035 §3.1, the encoding that ENSIP-10 uses. */
const NAME_BYTES_MAX = 253
const LABEL_BYTES_MAX = 63

/** @throws invalid_input for a name that ENSIP-15 does not allow. Pure. */
const normalizedName = (name: string, normalize: (name: string) => string): string => {
  const normal = (() => {
    try {
      return normalize(name)
    } catch {
      return ''
    }
  })()
  const sizes = normal.split('.').map((label) => Buffer.byteLength(label))
  const fits = Buffer.byteLength(normal) <= NAME_BYTES_MAX && sizes.every((size) => size > 0 && size <= LABEL_BYTES_MAX)
  if (!fits) throw new AppError('invalid_input', 'Field "name" must be a name like alice.eth, valid by ENSIP-15.')
  return normal
}

const nameAndParents = (name: string): readonly string[] => {
  const labels = name.split('.')
  return labels.map((_, index) => labels.slice(index).join('.'))
}

/** null for a network without a registry. */
export const createNames = ({ rpc, row }: { readonly rpc: Rpc; readonly row: EvmNetworkRow }): Names | null => {
  const { nameRegistry: registry } = row
  return registry === null ? null : { addressOfName: (name) => readAddressOfName({ rpc, registry }, name) }
}

const readAddressOfName = async (
  { rpc, registry }: { readonly rpc: Rpc; readonly registry: string },
  input: string,
): Promise<string | null> => {
  // Loaded late: its tables of characters take a tenth of the time in which a process starts, and few callers have
  // names.
  const { namehash, normalize, packetToBytes } = await import('viem/ens')
  const name = normalizedName(input, normalize)
  const read = (to: string, data: Hex) => readQuestion({ to, data, gasLimit: READ_GAS_LIMIT })
  const found: readonly Answer<Hex>[] = await rpc.tryAll(
    nameAndParents(name).map((each) =>
      read(registry, encodeFunctionData({ abi: ABI, functionName: 'resolver', args: [namehash(each)] })),
    ),
  )
  const resolvers = found.map((answer) => addressIn(returned(rpc, answer)))
  const at = resolvers.findIndex((each) => each !== null)
  const resolver = resolvers[at] ?? null
  if (resolver === null) return null
  const addr = encodeFunctionData({ abi: ABI, functionName: 'addr', args: [hexText(namehash(name))] })
  const packet = toHex(packetToBytes(name))
  const answers: readonly Answer<Hex>[] = await rpc.tryAll([
    read(resolver, encodeFunctionData({ abi: ABI, functionName: 'supportsInterface', args: [EXTENDED_RESOLVER] })),
    read(resolver, encodeFunctionData({ abi: ABI, functionName: 'resolve', args: [packet, addr] })),
    read(resolver, addr),
  ])
  const [extended, resolved, direct] = answers.map((answer) => returned(rpc, answer))
  if (wordIn(extended) === 1n) {
    // `resolve` returns the bytes that `addr` would have returned.
    return addressIn(decoded(resolved, (data) => decodeAbiParameters([{ type: 'bytes' }], data)[0]))
  }
  return at === 0 ? addressIn(direct) : null
}
