package org.moe4j.core.backend;

import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOPMDCAdapter;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/** A log that prints all lines, for a JVM started with {@code -Dslf4j.provider} and this name. */
public final class PrintedLog implements SLF4JServiceProvider {
    /** For SLF4J. */
    public PrintedLog() {}

    private static final class Printed extends LegacyAbstractLogger {
        private static final long serialVersionUID = 1;

        Printed(String name) {
            this.name = name;
        }

        @Override
        protected String getFullyQualifiedCallerName() {
            return name;
        }

        @Override
        protected void handleNormalizedLoggingCall(
                Level level, Marker marker, String message, Object[] arguments, Throwable thrown) {
            System.out.println(level + " " + name + ": " + MessageFormatter.basicArrayFormat(message, arguments));
        }

        @Override
        public boolean isTraceEnabled() {
            return name.startsWith("org.moe4j");
        }

        @Override
        public boolean isDebugEnabled() {
            return isTraceEnabled();
        }

        @Override
        public boolean isInfoEnabled() {
            return isTraceEnabled();
        }

        @Override
        public boolean isWarnEnabled() {
            return true;
        }

        @Override
        public boolean isErrorEnabled() {
            return true;
        }
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return Printed::new;
    }

    @Override
    public IMarkerFactory getMarkerFactory() {
        return new BasicMarkerFactory();
    }

    @Override
    public MDCAdapter getMDCAdapter() {
        return new NOPMDCAdapter();
    }

    @Override
    public String getRequestedApiVersion() {
        return "2.0.99";
    }

    @Override
    public void initialize() {}
}
