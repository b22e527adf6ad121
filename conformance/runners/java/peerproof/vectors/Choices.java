package peerproof.vectors;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Answers random choices: as the vector says, else from a stream of the seed, the site, and its number of questions. */
final class Choices implements Choose {
    final String seed;
    private final Map<String, Integer> count = new HashMap<>();
    private List<Bundle.Pick> script = new ArrayList<>();
    private String wrong;

    Choices(String seed) {
        this.seed = seed;
    }

    /** Sets the next answers, and forgets earlier ones that are left. */
    void follow(List<Bundle.Pick> picks) {
        script = new ArrayList<>(picks);
    }

    /** The first question that the vector answers otherwise; null if there is none. */
    String wrong() {
        return wrong;
    }

    @Override
    public List<Integer> ask(String site, String kind, List<?> given, int some) {
        List<?> options = (List<?>) Json.plain(given);
        int wanted = switch (kind) {
            case "one" -> 1;
            case "permutation" -> options.size();
            default -> some;
        };
        int number = count.merge(site, 1, Integer::sum) - 1;
        Optional<Bundle.Pick> next = script.stream().filter(pick -> pick.site().equals(site)).findFirst();
        if (next.isPresent()) {
            script.remove(next.get());
            List<Object> answer = next.get().pick();
            if (answer.size() == wanted && options.containsAll(answer)) {
                return answer.stream().<Integer>map(options::indexOf).toList();
            }
            if (wrong == null) {
                String asked = "asked at %s for %d of %s".formatted(site, wanted, literal(options));
                wrong = asked + ", where the vector answers " + literal(answer);
            }
        }
        if (options.size() == 1) {
            return List.of(0);
        }
        String stream = seed + "/" + site + "/" + number + "/";
        List<String> weights = IntStream.range(0, options.size()).mapToObj(at -> Blake2b.digest(stream + at, 8)).toList();
        return IntStream.range(0, options.size()).boxed()
                .sorted(Comparator.comparing(weights::get))
                .limit(wanted)
                .toList();
    }

    /** A value in the notation in which outcomes with options are hashed: texts in single quotes. */
    private static String literal(Object value) {
        if (value instanceof List<?> items) {
            return items.stream().map(Choices::literal).collect(Collectors.joining(", ", "[", "]"));
        }
        if (value instanceof Map<?, ?> object) {
            return object.entrySet().stream()
                    .map(member -> literal(member.getKey()) + ": " + literal(member.getValue()))
                    .collect(Collectors.joining(", ", "{", "}"));
        }
        return value instanceof String text ? "'" + text + "'" : String.valueOf(value);
    }
}
