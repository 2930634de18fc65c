import type { PageAction, PageChoices } from '../../lab/web/page-facts.js'
import type { Offer } from './offers.js'

interface FormProps {
  readonly offer: Offer
  /** The topology from which the lab was created. */
  readonly topology: string
  readonly action: PageAction
  /** Undefined until they are loaded. */
  readonly choices: PageChoices | undefined
  readonly onChange: (action: PageAction) => void
}

/** The input fields of an action. */
export const ActionForm = ({ offer, topology, action, choices, onChange }: FormProps) => {
  return (
    <fieldset>
      <legend class="unseen">{offer.label}</legend>
      {offer.asks === 'ms' && <Delay action={action} onChange={onChange} />}
      {offer.asks === 'new-snapshot' && <NewName action={action} onChange={onChange} />}
      {offer.asks === 'snapshot' && (
        <Choice
          label="Snapshot"
          groups={choices && [{ label: 'kept', names: choices.snapshots }]}
          action={action}
          onChange={onChange}
        />
      )}
      {offer.asks === 'drill' && (
        <>
          <Choice label="Drill" groups={choices && groupsOf(choices, topology)} action={action} onChange={onChange} />
          <p class="purpose">{choices?.drills.find(({ name }) => name === action.name)?.purpose}</p>
        </>
      )}
    </fieldset>
  )
}

export const ForceBox = ({ action, onChange }: FieldProps) => (
  <label class="force">
    <input
      type="checkbox"
      checked={action.isForced === true}
      onChange={({ currentTarget }) => onChange({ ...action, isForced: currentTarget.checked })}
    />{' '}
    at any price (force)
  </label>
)

type FieldProps = Pick<FormProps, 'action' | 'onChange'>

const Delay = ({ action, onChange }: FieldProps) => (
  <label>
    Milliseconds{' '}
    <input
      type="number"
      min={1}
      max={3_600_000}
      required
      value={action.ms ?? ''}
      onInput={({ currentTarget: { valueAsNumber: ms } }) => {
        const { ms: _, ...rest } = action
        onChange(Number.isNaN(ms) ? rest : { ...rest, ms })
      }}
    />
  </label>
)

const NewName = ({ action, onChange }: FieldProps) => (
  <label>
    Name{' '}
    <input
      type="text"
      required
      autocomplete="off"
      value={action.name ?? ''}
      onInput={({ currentTarget }) => onChange({ ...action, name: currentTarget.value })}
    />
  </label>
)

interface Group {
  readonly label: string
  readonly names: readonly string[]
}

/** Groups the drills. Those for this lab's topology come first. */
const groupsOf = ({ drills }: PageChoices, topology: string): readonly Group[] => {
  const namesOf = (isForThis: boolean) =>
    drills.filter((drill) => (drill.topology === topology) === isForThis).map(({ name }) => name)
  return [
    { label: `for labs such as this one (${topology})`, names: namesOf(true) },
    { label: 'for others; not all that they expect may be so here', names: namesOf(false) },
  ]
}

interface ChoiceProps extends FieldProps {
  readonly label: string
  readonly groups: readonly Group[] | undefined
}

const Choice = ({ label, groups, action, onChange }: ChoiceProps) => (
  <label>
    {label}{' '}
    <select
      required
      disabled={!groups}
      value={action.name ?? ''}
      onChange={({ currentTarget }) => onChange({ ...action, name: currentTarget.value })}
    >
      <option value="">{groups?.every(({ names }) => names.length === 0) ? 'there is none' : 'choose'}</option>
      {groups?.map((group) => (
        <optgroup key={group.label} label={group.label}>
          {group.names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  </label>
)
