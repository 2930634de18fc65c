import type { ValueOf } from '../../documents/schema.js'
import { DrillFailure, type DrillContext } from '../context/drill-context.js'
import { checkFact, describeExpectation, EXPECTATION_SCHEMAS, toExpectation } from '../expectations/expectations.js'
import { LINK_STEPS, SERVER_FAULT_STEPS, SERVER_STEPS } from './lab-steps.js'
import { REQUEST_STEPS } from './request-steps.js'
import { ROLE_STEPS } from './role-steps.js'
import { step, type StepRow } from './step.js'
import { WAIT_STEP } from './wait-step.js'

const { call, write, read, run } = REQUEST_STEPS

const CHECKPOINT = {
  checkpoint: step({
    schema: {
      type: 'array',
      minItems: 1,
      description: 'Checks expectations now, except those about clients.',
      items: { type: 'object', additionalProperties: false, properties: EXPECTATION_SCHEMAS },
    },
    text: (entries) => entries.map((entry) => toExpectation(entry).about).join(', '),
    async run(context, entries) {
      const failed: string[] = []
      for (const expectation of entries.map(toExpectation)) {
        const { passed, evidence } = await checkFact(context, expectation)
        if (!passed) failed.push(`${describeExpectation(expectation)}: ${evidence.join('; ')}`)
      }
      if (failed.length > 0) throw new DrillFailure(failed.join('\n'))
    },
  }),
}

/** All steps of drills. The schema, the checks, the texts and the runs of drills follow from this table. */
export const STEPS = {
  ...SERVER_STEPS,
  ...LINK_STEPS,
  ...SERVER_FAULT_STEPS,
  call,
  ...ROLE_STEPS,
  write,
  read,
  ...WAIT_STEP,
  ...CHECKPOINT,
  run,
}

type Table = typeof STEPS

export type Verb = keyof Table

/** A verb with its value. */
export type Step = {
  readonly [V in Verb]: {
    readonly verb: V
    readonly name: string | undefined
    readonly error: { readonly status?: number; readonly contains?: string } | undefined
    readonly with: ValueOf<Table[V]['schema']>
  }
}[Verb]

export const isVerb = (key: string): key is Verb => Object.hasOwn(STEPS, key)

export const rowOf = (verb: Verb): StepRow => STEPS[verb]

/** Describes a step in English. */
export const describeStep = ({ verb, with: value }: Step): string => rowOf(verb).text(value)

/** Runs a step. Rejects if it cannot run, or if its result is not the expected one. */
export const runStep = async (context: DrillContext, { verb, with: value }: Step): Promise<void> => {
  // The facts of a checkpoint can use what an earlier one saves.
  await rowOf(verb).run(context, verb === 'checkpoint' ? value : await context.variables.resolve(value))
}
