import { encodeFunctionData, parseAbi } from 'viem'
import type { Hex } from '../chain.ts'
import type { Rpc } from '../node/rpc.ts'
import { readQuestion, returned, wordIn } from './call.ts'

const ABI = parseAbi(['function supportsInterface(bytes4 interfaceID) view returns (bool)'])

/** The gas that an unknown contract may use for a read. */
const READ_GAS_LIMIT = 2_000_000n

/** Whether a contract says that it has an interface (ERC-165). */
export const supportsInterface = async (
  rpc: Rpc,
  { contract, interfaceId }: { readonly contract: string; readonly interfaceId: Hex },
): Promise<boolean> => {
  const data = encodeFunctionData({ abi: ABI, args: [interfaceId] })
  const answer = await rpc.try(readQuestion({ to: contract, data, gasLimit: READ_GAS_LIMIT }))
  return wordIn(returned(rpc, answer)) === 1n
}
