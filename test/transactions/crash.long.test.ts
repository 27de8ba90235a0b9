// Crashes while transactions of EVM networks are sent, some of them by Safes: see crash-runs.ts.

import { describe } from 'bun:test'
import { isLong } from '../support/long.ts'
import { startEvmGround } from './crash-evm.ts'
import type { Blocks } from './crash-ground.ts'
import { testCrashes } from './crash-runs.ts'

/** The most important points, in the short run of one of the two: measuring costs as much as these runs. */
const POINTS = [
  'api work db after 3 commit (select add_strongroom_job)',
  'worker work node after 3 eth_sendRawTransaction',
  'postgres vault work db after 2 insert audit',
  'vault work vault after 1 openKeyByPolicy',
]

const testBlocks = (blocks: Blocks, points?: readonly string[]) =>
  describe(`blocks ${blocks}`, () =>
    testCrashes([() => startEvmGround(blocks)], { runs: isLong ? 100 : (points?.length ?? 2), points }))

if (isLong) testBlocks('by clock')
testBlocks('at once', isLong ? undefined : POINTS)
