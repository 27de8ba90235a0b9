// A strict parser of Prometheus' text format 0.0.4. It refuses what lenient parsers accept.

const HELP = /^# HELP ([a-z][a-z0-9_]*) (\S.*)$/
const TYPE = /^# TYPE ([a-z][a-z0-9_]*) (counter|gauge|histogram)$/
const SAMPLE = /^([a-z][a-z0-9_]*)(?:\{(.+)\})? (\S+)$/
const LABEL = /^([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/

export type Series = {
  readonly family: string
  readonly type: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const labelsOf = (text: string): Record<string, string> => {
  const labels: Record<string, string> = {}
  for (let rest = text; rest !== ''; ) {
    const [whole, name, value] = LABEL.exec(rest) ?? []
    if (whole === undefined || name === undefined || value === undefined) throw new Error(`labels: ${text}`)
    if (name in labels) throw new Error(`a label twice: ${text}`)
    labels[name] = value
    rest = rest.slice(whole.length)
  }
  return labels
}

/** A key for a name and its labels, which does not depend on the order of the labels. */
export const keyOf = (name: string, labels: Readonly<Record<string, string>>): string =>
  `${name}${JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)))}`

const refuseBrokenHistograms = (all: readonly Series[]): void => {
  const buckets = Map.groupBy(
    all.filter(({ type, name }) => type === 'histogram' && name.endsWith('_bucket')),
    ({ family, labels: { le, ...labels } }) => keyOf(family, labels),
  )
  for (const [key, series] of buckets) {
    const [first] = series
    if (first === undefined) continue
    const bounds = series.map(({ labels: { le } }) => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)))
    const isRising = (values: readonly number[], strictly: boolean) =>
      values.every((value, at) => at === 0 || value - (values[at - 1] ?? 0) >= (strictly ? Number.MIN_VALUE : 0))
    if (!isRising(bounds, true) || bounds.at(-1) !== Number.POSITIVE_INFINITY) throw new Error(`bounds of ${key}`)
    if (
      !isRising(
        series.map(({ value }) => value),
        false,
      )
    )
      throw new Error(`buckets of ${key} are not cumulative`)
    const { le: _, ...others } = first.labels
    const of = (suffix: string) =>
      all.find((each) => keyOf(each.name, each.labels) === keyOf(first.family + suffix, others))
    if (of('_count')?.value !== series.at(-1)?.value) throw new Error(`the count of ${key}`)
    if (of('_sum') === undefined) throw new Error(`the sum of ${key}`)
  }
}

/** @throws Error at the first violation of the format. */
export const readExposition = (text: string): readonly Series[] => {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const all: Series[] = []
  const seen = new Set<string>()
  const families = new Set<string>()
  let help = ''
  let family = ''
  let type = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, helped] = HELP.exec(line) ?? []
    const [, typed, as] = TYPE.exec(line) ?? []
    const [, name, labelText = '', value] = SAMPLE.exec(line) ?? []
    if (helped !== undefined) {
      if (families.has(helped)) throw new Error(`a family twice: ${helped}`)
      families.add(helped)
      help = helped
    } else if (typed !== undefined && as !== undefined) {
      if (typed !== help) throw new Error(`a type without a help line before: ${line}`)
      if ((as === 'counter') !== typed.endsWith('_total')) throw new Error(`not named as what it is: ${line}`)
      family = typed
      type = as
    } else if (name !== undefined && value !== undefined) {
      const suffix = name.startsWith(family) ? name.slice(family.length) : null
      const allowed = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      if (suffix === null || !allowed.includes(suffix) || family !== help) throw new Error(`out of place: ${line}`)
      if (!Number.isFinite(Number(value)) || (type !== 'gauge' && Number(value) < 0)) throw new Error(`value: ${line}`)
      const series = { family, type, name, labels: labelsOf(labelText), value: Number(value) }
      const key = keyOf(name, series.labels)
      if (seen.has(key)) throw new Error(`a series twice: ${line}`)
      seen.add(key)
      all.push(series)
    } else throw new Error(`no line of the format: ${line}`)
  }
  refuseBrokenHistograms(all)
  return all
}

export type Metrics = {
  readonly series: readonly Series[]
  /** @throws Error if there is no such series. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number
  /** The sum of the series with these labels. */
  readonly sum: (name: string, labels?: Readonly<Record<string, string>>) => number
}

/** @param texts of the processes of one deployment. Their series are added up, as Prometheus does. */
export const readMetrics = (...texts: readonly string[]): Metrics => {
  const series = texts.flatMap(readExposition)
  const byKey = new Map<string, number>()
  for (const { name, labels, value } of series) {
    const key = keyOf(name, labels)
    byKey.set(key, (byKey.get(key) ?? 0) + value)
  }
  return {
    series,
    value: (name, labels = {}) => {
      const value = byKey.get(keyOf(`strongroom_${name}`, labels))
      if (value === undefined) throw new Error(`no series ${keyOf(name, labels)}`)
      return value
    },
    sum: (name, labels = {}) =>
      series
        .filter((each) => each.name === `strongroom_${name}`)
        .filter((each) => Object.entries(labels).every(([label, value]) => each.labels[label] === value))
        .reduce((sum, { value }) => sum + value, 0),
  }
}
