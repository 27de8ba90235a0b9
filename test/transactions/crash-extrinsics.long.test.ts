// Crashes while extrinsics are sent: see crash-runs.ts.

import { isLong } from '../support/long.ts'
import { testCrashes } from './crash-runs.ts'
import { startSubstrateGround } from './crash-substrate.ts'

/** The most important points. Measuring all of them would take longer than these runs. */
const POINTS = [
  'api work db after 3 commit (select add_strongroom_job)',
  'worker work node after 3 author_submitExtrinsic',
]

const grounds = (['by clock', 'at once'] as const).map(
  (blocks) => () => startSubstrateGround({ blocks, mints: isLong }),
)

if (isLong) testCrashes(grounds, { runs: 100 })
else testCrashes(grounds.slice(0, 1), { runs: 2, points: POINTS })
